import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What a process has open: `/proc/<pid>/fd`, the links as they are. A handle that closes meanwhile is left out. */
function openFiles(pid: number | undefined): readonly string[] {
  const dir = `/proc/${pid}/fd`
  return readdirSync(dir).flatMap((name) => {
    try {
      return [readlinkSync(`${dir}/${name}`)]
    } catch {
      return []
    }
  })
}

/** Looks for what stays open, and the time between two, ms: what a look at a file or a query opens is closed by then. */
const LOOKS = 10
const BETWEEN_MS = 50

/** What a process keeps open: the fewest handles of several looks. */
export async function lastingFiles(pid: number | undefined): Promise<readonly string[]> {
  let least = openFiles(pid)
  for (let look = 1; look < LOOKS; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS))
    const now = openFiles(pid)
    if (now.length < least.length) least = now
  }
  return least
}

/** Pids of the direct children of a process. */
export function childrenOf(pid: number | undefined): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim()
      return text === '' ? [] : text.split(' ').map(Number)
    } catch {
      return []
    }
  })
}
