// Loaded before a test file that has a process of its own: says at its end how many seconds of a processor it took, with those of
// the programs that it started and waited for. A container is not among them: something else waits for it.
import { readFileSync, writeSync } from 'node:fs'

/** Linux counts in hundredths of a second, whatever its own clock. */
const TICKS_PER_S = 100
/** utime, stime, cutime and cstime, counted from the state, the first field behind the name. proc(5) */
const TIMES = [11, 15]

process.on('exit', () => {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(...TIMES).reduce((sum, field) => sum + Number(field), 0)
    writeSync(1, `\n@@cost ${ticks / TICKS_PER_S}\n`)
  } catch {
    // Another system than Linux.
  }
})
