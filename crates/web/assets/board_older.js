// A page of older messages: it becomes live when the reader has scrolled to the newest message.
import "./board_list.js";
import "./board_composer.js";
