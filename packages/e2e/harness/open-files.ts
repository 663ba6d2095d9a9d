import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What a process has open: `/proc/<pid>/fd`, the links as they are. A handle that closes meanwhile is left out. */
export function openFiles(pid: number | undefined): readonly string[] {
  const dir = `/proc/${pid}/fd`
  return readdirSync(dir).flatMap((name) => {
    try {
      return [readlinkSync(`${dir}/${name}`)]
    } catch {
      return []
    }
  })
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
