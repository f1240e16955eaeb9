"""Telegram: topics, groups and private chats as places, for one bot.

`chat.TelegramChat` is all that the composition root needs. What it imports is light; the Telegram library is
loaded in a thread once `run` begins, so that the bridge accepts before it.
"""
