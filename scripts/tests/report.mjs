// Counts what uvu counted, file by file, and says what went wrong.

/** Lines of a failure that the end of a run repeats, and how long they may be. */
const SHOWN = 5
const WIDTH = 300

/** A new count. `hasFigures` prints the lines that tests begin with `# `: what they measured. */
export function makeReport({ hasFigures = false } = {}) {
  const total = { passed: 0, failed: 0, files: 0, failures: [] }
  const report = (file, { code, output, seconds }) => {
    total.files += 1
    const count = counts(output)
    const need = /^needs (.+)$/m.exec(output)?.[1]
    if (code === 0 && count.total === 0 && need !== undefined) {
      process.stdout.write(`none ${file}: it needs ${need}\n`)
      return
    }
    const isBad = code !== 0 || count.total === 0
    total.passed += count.passed
    total.failed += isBad ? Math.max(1, count.total - count.passed) : 0
    process.stdout.write(
      `${isBad ? 'FAIL' : 'ok  '} ${file} ${count.passed}/${count.total} ${seconds.toFixed(1)} s\n`,
    )
    if (isBad) {
      total.failures.push(...failuresIn(file, output))
      process.stdout.write(`${output}\n${count.total === 0 ? 'no test ran\n' : ''}`)
    } else if (hasFigures) process.stdout.write(figures(output))
  }
  return { total, report }
}

/** What a run came to, as its last lines: the tests that failed, each with what it said first, and the count. */
export function summary({ passed, failed, files, failures }, seconds) {
  const list = failures.flatMap(({ what, why }) => [
    `failed: ${what}`,
    ...why.map((line) => `    | ${line.slice(0, WIDTH)}`),
  ])
  return ['', ...list, `${files} files in ${seconds} s`, `${passed} passed, ${failed} failed`, ''].join('\n')
}

/** The failed tests of a file with the first lines of their errors; without any, the file with its last words. */
function failuresIn(file, output) {
  const lines = output.split('\n')
  const found = lines.flatMap((line, at) => {
    const name = /^ {3}FAIL {2}.*? {2}"(.*)"$/.exec(line)?.[1]
    if (name === undefined) return []
    const rest = lines.slice(at + 1)
    const end = rest.findIndex((one) => /^ {4}at |^ {3}FAIL {2}/.test(one))
    return [{ what: `${file} "${name}"`, why: firstOf(wordsIn(end < 0 ? rest : rest.slice(0, end))) }]
  })
  return found.length > 0 ? found : [{ what: file, why: wordsIn(lines).slice(-SHOWN) }]
}

/** The first lines, or where two values are compared the first and those that differ. */
function firstOf([first, ...rest]) {
  const differing = rest.filter((line) => /^(\+\+|--)/.test(line))
  return [first, ...(differing.length > 0 ? differing : rest)].filter(Boolean).slice(0, SHOWN)
}

function wordsIn(lines) {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^(at |(Total|Passed|Skipped|Duration):)/.test(line))
}

/** uvu prints its totals once a file: `Total: 3`, `Passed: 3`. */
function counts(output) {
  const number = (label) =>
    [...output.matchAll(new RegExp(`${label}:\\s+(\\d+)`, 'g'))].reduce((sum, m) => sum + Number(m[1]), 0)
  return { total: number('Total'), passed: number('Passed') }
}

function figures(output) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('# '))
    .map((line) => `     ${line}\n`)
    .join('')
}
