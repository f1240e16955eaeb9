-- The key of the post that a post replies to.

ALTER TABLE posts ADD COLUMN answers TEXT;
