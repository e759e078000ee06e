// Live updates of a channel. Without this script the page is static and its forms still work.
import "./board_stream.js";
import "./board_actions.js";
