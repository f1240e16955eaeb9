-- What is unsettled, in entries as short as counting allows: a commit of many messages writes a page for each recipient.

DROP INDEX messages_unsettled;
CREATE INDEX messages_unsettled ON messages (recipient, state, wake, intent, origin) WHERE state <> 'settled';
