// Processor time of processes, ms.
import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10

function fieldsOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number)
}

/** Of the children that a process has waited for, in ticks of the kernel. */
export function ofChildren(pid = 'self') {
  const fields = fieldsOf(pid)
  return (fields[13] + fields[14]) * TICK_MS
}

/** Of all threads that a process has, to the nanosecond. */
export function ofThreads(pid = 'self') {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [ran] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
    return sum + Number(ran) / 1e6
  }, 0)
}

/** How it is shared between a process and the kernel's work for it: the user's ticks and the system's. */
export function ticksOf(pid) {
  const fields = fieldsOf(pid)
  return { user: fields[11], system: fields[12] }
}

/** Of the kernel's threads that go on with what came too fast; of the whole machine, and 0 where they are not seen. */
export function ofSoftirqThreads() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .reduce((sum, pid) => {
      try {
        const isOne = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('ksoftirqd/')
        return isOne ? sum + ofThreads(pid) : sum
      } catch {
        return sum
      }
    }, 0)
}
