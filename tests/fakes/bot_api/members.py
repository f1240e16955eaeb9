"""Members of chats as the Bot API tells them."""

from tests.fakes.bot_api.world import Json, Member

_ADMINISTRATOR = (
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_send_welcome_messages",
    "can_pin_messages",
    "can_manage_topics",
)
_RESTRICTED = (
    "can_send_messages",
    "can_send_audios",
    "can_send_documents",
    "can_send_photos",
    "can_send_videos",
    "can_send_video_notes",
    "can_send_voice_notes",
    "can_send_polls",
    "can_send_other_messages",
    "can_add_web_page_previews",
    "can_react_to_messages",
    "can_edit_tag",
    "can_change_info",
    "can_invite_users",
    "can_pin_messages",
    "can_manage_topics",
)


def member_json(user: Json, member: Member) -> Json:
    told: Json = {"status": member.status, "user": user}
    match member.status:
        case "creator":
            return told | {"is_anonymous": False}
        case "administrator":
            rights = {right: member.may(right) for right in _ADMINISTRATOR}
            return told | {"can_be_edited": False, "is_anonymous": False} | rights
        case "restricted":
            rights = {right: member.may(right) for right in _RESTRICTED}
            return told | {"is_member": member.present, "until_date": 0} | rights
        case "kicked":
            return told | {"until_date": 0}
    return told
