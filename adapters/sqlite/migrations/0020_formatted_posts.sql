-- How a post is formatted, in its chat's own words; the text of which it shows the beginning; the name of the document
-- that it is; and what it replies to.

ALTER TABLE posts ADD COLUMN markup TEXT;
ALTER TABLE posts ADD COLUMN whole TEXT;
ALTER TABLE posts ADD COLUMN file TEXT;
ALTER TABLE posts ADD COLUMN reply_to TEXT;
