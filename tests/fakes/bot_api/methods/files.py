"""Files that the bot sends and fetches."""

from typing import Any

from aiogram.methods import GetFile, SendDocument, SendPhoto
from aiogram.types import BufferedInputFile

from tests.fakes.bot_api.content import buttons_of, caption_content, entities_of
from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.methods.threads import check_may_send, open_thread, replied_to
from tests.fakes.bot_api.world import BOT, ApiError, Json, Sent, Upload, World, bad_request

MAX_UP = 50 * 1024 * 1024
MAX_PHOTO = 10 * 1024 * 1024
MAX_DOWN = 20 * 1024 * 1024


class Files:
    def __init__(self, world: World) -> None:
        self._world = world
        self.table: Table = {
            "sendDocument": self._send_document,
            "sendPhoto": self._send_photo,
            "getFile": self._get_file,
        }

    def _send_document(self, call: SendDocument) -> Json:
        file = self._upload("document", call.document, MAX_UP)
        stored = self._world.store(file.name, file.data)
        document = {"file_id": stored.file_id, "file_unique_id": stored.file_id, "file_size": stored.size}
        return self._sent(call, file, {"document": document | {"file_name": file.name}})

    def _send_photo(self, call: SendPhoto) -> Json:
        file = self._upload("photo", call.photo, MAX_PHOTO)
        stored = self._world.store(file.name, file.data)
        size = {"file_id": stored.file_id, "file_unique_id": stored.file_id, "width": 90, "height": 90}
        return self._sent(call, file, {"photo": [size | {"file_size": stored.size}]})

    def _upload(self, kind: str, given: Any, limit: int) -> Upload:
        if isinstance(given, str):
            stored = self._world.files.get(given)
            if stored is None:
                raise bad_request("wrong remote file identifier specified: can't unserialize it. Wrong last symbol")
            return Upload(kind, stored.path.rsplit("/", 1)[-1], stored.data)
        assert isinstance(given, BufferedInputFile)
        if len(given.data) > limit:
            if limit == MAX_PHOTO:
                raise bad_request(
                    f"file of size {len(given.data)} bytes is too big for a photo; the maximum size is {limit} bytes"
                )
            raise ApiError(413, "Request Entity Too Large")
        if not given.data:
            raise bad_request("file must be non-empty")
        return Upload(kind, given.filename or kind, given.data)

    def _sent(self, call: Any, file: Upload, media: Json) -> Json:
        room = self._world.room(call.chat_id)
        written = caption_content(self._world, call.caption, call.caption_entities, call.reply_markup, call.parse_mode)
        check_may_send(room, f"{file.kind}s")
        thread = open_thread(room, call.message_thread_id)
        reply_to = replied_to(room, call.reply_parameters, thread)
        message = room.place(BOT, media | written, thread=thread, reply_to=reply_to)
        sent = Sent(
            chat=room.id,
            thread=thread,
            message_id=message["message_id"],
            text=message.get("caption", ""),
            buttons=buttons_of(written),
            silent=bool(call.disable_notification),
            entities=entities_of(written),
            file=file,
            reply_to=reply_to,
            at=self._world.clock(),
        )
        self._world.show(room, sent)
        return message

    def _get_file(self, call: GetFile) -> Json:
        file = self._world.files.get(call.file_id)
        if file is None:
            raise bad_request("wrong file_id or the file is temporarily unavailable")
        if file.size > MAX_DOWN:
            raise bad_request("file is too big")
        return {
            "file_id": file.file_id,
            "file_unique_id": file.file_id,
            "file_size": file.size,
            "file_path": file.path,
        }
