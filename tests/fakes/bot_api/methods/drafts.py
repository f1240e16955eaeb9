"""What the bot seems to be doing: writing, or a text that it has not sent yet."""

from aiogram.methods import SendChatAction, SendMessageDraft

from tests.fakes.bot_api.content import draft_text
from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.methods.threads import shown_thread
from tests.fakes.bot_api.world import Draft, World, bad_request

_ACTIONS = (
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)


class Drafts:
    def __init__(self, world: World) -> None:
        self._world = world
        self.table: Table = {"sendChatAction": self._action, "sendMessageDraft": self._draft}

    def _action(self, call: SendChatAction) -> bool:
        if call.action not in _ACTIONS.split():
            raise bad_request("wrong parameter action in request")
        shown_thread(self._world.room(call.chat_id), call.message_thread_id)
        return True

    def _draft(self, call: SendMessageDraft) -> bool:
        room = self._world.room(call.chat_id)
        if room.type != "private":
            raise bad_request("TEXTDRAFT_PEER_INVALID")
        if call.draft_id == 0:
            raise bad_request("draft identifier must be non-zero")
        text = draft_text(self._world, call.text or "", call.entities, call.parse_mode)
        thread = shown_thread(room, call.message_thread_id)
        self._world.drafts.append(Draft(room.id, thread, call.draft_id, text, self._world.clock()))
        return True
