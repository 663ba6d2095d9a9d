import { execFile } from 'node:child_process'

/** Of the time that systemd waits for a word, what passes between two, so that one may be late. */
const SHARE = 1 / 3

/**
 * Tells systemd that the service is ready, and from then on that its event loop turns, by systemd's own program: Node has no
 * sockets of the kind that it listens on. Does nothing where systemd has not started the service; calls after the first do nothing.
 */
export function createTeller(env: NodeJS.ProcessEnv = process.env): () => void {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: patience, WATCHDOG_PID: whose } = env
  const say = (word: string): void => {
    execFile('systemd-notify', [word], { env }, () => undefined).unref()
  }
  let isTold = false
  return () => {
    if (socket === undefined || isTold) return
    isTold = true
    say('READY=1')
    const everyMs = (Number(patience) / 1_000) * SHARE
    const isMine = whose === undefined || Number(whose) === process.pid
    if (everyMs >= 1 && isMine) setInterval(() => say('WATCHDOG=1'), everyMs).unref()
  }
}
