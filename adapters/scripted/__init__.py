"""A deterministic ACP agent over stdio, for the demo and for tests: `python -P -m adapters.scripted`.

It needs the standard library only and starts in well under a tenth of a second, so that hundreds can run.

**Scripts.** Text that begins with `do:` is a script, in a person's words as well as in the mail that
`peer_receive` returned. Its directives stand on lines of their own or are separated by ` ; `:

    do: say I ask Career ; call peer_ask {"to": "career", "text": "do: say 42"} ; say $last.reply.text

| directive | what it does |
| --- | --- |
| `say TEXT` | sends a chunk of visible text, on a line of its own if it follows another |
| `think TEXT` | sends a chunk of a thought |
| `big N` | says N characters in one chunk |
| `echo` | says what it was prompted with |
| `late TEXT` | sends a chunk of text after the prompt's result |
| `call TOOL {json}` | calls a tool of its MCP servers, announced as `mcp__SERVER__TOOL`; the result becomes `$last` |
| `tool NAME` | announces a tool call of its own, begun and completed |
| `begin NAME`, `end` | the same in two steps |
| `ask-permission TITLE` | asks its client, and says `permission: OPTION`, or `permission: cancelled` |
| `offer KIND,...` | the kinds of the options that `ask-permission` offers from now on |
| `elicit {json}` | asks its client for what a form or link needs, and says `elicited: {json}`, which becomes `$last` |
| `update {json}` | sends a session update as it is |
| `wait SECONDS`, `wait-for FILE`, `hang` | waits for a time, until a file exists, or for ever; a cancel ends it |
| `touch FILE` | makes an empty file |
| `let NAME TEXT` | keeps a text as `$NAME` |
| `on-cancel end\\|error\\|ignore` | how this prompt answers a cancel from now on; without it, as `cancelled` |
| `ignore-cancel` | short for `on-cancel ignore` |
| `stop REASON` | ends the prompt with that stop reason |
| `result {json}` | ends the prompt with that result, whatever it is |
| `refuse` | short for `stop refusal` |
| `fail [CODE] TEXT` | ends the request with a JSON-RPC error, -32603 if no code is given |
| `fail-as-text TEXT` | says an error and ends as if all was well, but without usage |
| `crash [CODE]` | ends the process at once, in the middle |
| `exit` | ends the process with 0 once the result has been sent |
| `orphan` | starts a child in its process group that ignores SIGTERM; its pid becomes `$last` |
| `detach` | the same in a process session of its own, which does not end with it |
| `compress` | goes on under another id of its context, and tells so as Hermes does; the id becomes `$last` |
| `stderr TEXT` | writes a line there |
| `raw TEXT`, `bytes HEX` | writes a line to stdout that may be no frame at all |

**Values.** `$name`, with paths like `$last.messages[0].text` or `${last.id}`, is filled in in texts and in
the JSON of `call`; a JSON string that is nothing but a reference keeps the value's type, `$$` is a dollar
sign, and what is unknown stays as it is. There are `$last` (the newest tool result), `$id`, `$from`, `$text`,
`$intent` and `$conversation` (the mail at hand: the first of the newest `peer_receive`), `$prompt`,
`$session`, `$turn` (counts prompts), `$cwd`, `$pid`, `$env`, and what `let` and a rule's expression named.

**Without a script** it says `echo: TEXT` to a person. A text block that begins with `[Tieline]` or mentions
`peer_receive` is the bridge's notice. If it mentions that tool, the agent calls it and answers each message,
`done: TEXT` to a request, `noted: TEXT` to an inform and `FROM answered: TEXT` to a reply; else it says
nothing to it. An embedded resource is answered like a request.

**A persona** (`--persona FILE`) is JSON: `{"rules": [{"on": "mail", "match": "cv", "script": "say read"}]}`.
The first rule wins whose `on` is the event and whose `match` (a part of the text, in any case) or `regex`
(its named groups become values) fits. `script` is a text or a list of lines. Events: `prompt`, `notice`, `mail`
(also by `from` and `intent`), and with no text `start`, `initialize`, `session/new`, `session/load` and
`session/set_mode`. A `do:` script in the text itself goes before all rules.

**Options**, each also as an environment variable like `SCRIPTED_STATE`:

    --persona FILE   rules
    --state DIR      keeps each context's history, so that session/load replays it
    --unknown empty  session/load of an unknown id answers {}; without it, with an error
    --load no        session/load is not offered
    --replay HOW     how session/load replays: `nothing`, and it answers {}; `late`, after its answer; `ended`, only
                     prompts that have come to their end. Without it everything, before its answer, also of a prompt
                     that was cut off: each is kept before it is worked on, and each tool call before it begins
    --models A,B     offers these models, the first of them set; `$model` is the one that is
    --choice models  offers them in the older way, to be set by session/set_model
    --record FILE    appends every frame that it receives
    --stubborn yes   ignores SIGTERM and a closed stdin
"""
