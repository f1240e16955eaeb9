// Tells the Tieline bridge what happens in this terminal, and the agent when mail waits. Never a text of others: the
// agent reads that with the tool peer_receive. `tieline hook remove opencode` takes this file away again.
import { spawn } from "node:child_process"

const COMMAND = "{command}"
const BOUND_MS = 5000

function hook(event, input, bound) {
  return new Promise((resolve) => {
    let out = ""
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, "hook", event, "--agent", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = bound ? setTimeout(() => child.kill(), bound) : undefined
    const done = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(out).notice)
      } catch {
        resolve(undefined)
      }
    }
    child.on("error", done)
    child.on("close", done)
    child.stdout.on("data", (data) => (out += data))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(input))
  })
}

export const Tieline = async ({ client }) => {
  let current
  let waiting = false

  const prompt = (id, text) =>
    client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text }] } }).catch(() => {})

  const wait = async () => {
    if (waiting) return
    waiting = true
    const notice = await hook("wait", { session_id: current })
    waiting = false
    if (notice && current) await prompt(current, notice)
  }

  return {
    "chat.message": async (input, output) => {
      const { data } = await client.session.get({ path: { id: input.sessionID } }).catch(() => ({}))
      if (data?.parentID) return
      current = input.sessionID
      const texts = output.parts.filter((part) => part.type === "text").map((part) => part.text)
      await hook("prompt", { session_id: current, prompt: texts.join("\n") }, BOUND_MS)
    },
    "tool.execute.after": async (input, output) => {
      const notice = await hook("tool", { session_id: input.sessionID }, BOUND_MS)
      if (notice && typeof output.output === "string") output.output += `\n\n${notice}`
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle" || event.properties.sessionID !== current) return
      const notice = await hook("stop", { session_id: current }, BOUND_MS)
      if (notice) await prompt(current, notice)
      else void wait()
    },
  }
}
