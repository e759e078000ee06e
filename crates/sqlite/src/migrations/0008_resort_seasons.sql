-- The seasons of a resort.
CREATE INDEX resort_seasons ON resort_days (resort, season) WHERE day = 0;
