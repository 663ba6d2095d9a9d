// Counts what uvu counted, file by file, and says what went wrong.

/** Lines of a failure that the end of a run repeats, and how long they may be. */
const SHOWN = 5
const WIDTH = 300

/**
 * A new count. `hasFigures` prints the lines that tests begin with `# `: what they measured. With `mostAgain` the first so many
 * files that fail are printed, and left in `again` to be run once more: what they come to then is what counts.
 */
export function makeReport({ hasFigures = false, mostAgain = 0 } = {}) {
  const total = { passed: 0, failed: 0, files: 0, failures: [], uneven: [] }
  const again = new Map()
  const report = (file, result) => {
    const said = saidBy(result)
    if (said.isBad && again.size < mostAgain && !again.has(file)) {
      again.set(file, failuresIn(file, result.output))
      print(`FAIL ${file} ${said.line}: runs again alone`, result.output)
      return
    }
    total.files += 1
    if (said.need !== undefined) print(`none ${file}: it needs ${said.need}`)
    else if (said.isBad) {
      total.passed += said.passed
      total.failed += Math.max(1, said.total - said.passed)
      total.failures.push(...failuresIn(file, result.output))
      print(`FAIL ${file} ${said.line}`, result.output, ...(said.total === 0 ? ['no test ran'] : []))
    } else {
      total.passed += said.passed
      total.uneven.push(...(again.get(file) ?? []))
      print(`ok   ${file} ${said.line}`, ...(hasFigures ? figures(result.output) : []))
    }
  }
  return { total, report, again }
}

/** What a file came to. `need`: it has said what it lacks, and has run nothing. */
function saidBy({ code, output, seconds }) {
  const { passed, total } = counts(output)
  const need = code === 0 && total === 0 ? /^needs (.+)$/m.exec(output)?.[1] : undefined
  const isBad = need === undefined && (code !== 0 || total === 0)
  const cost = /^@@cost (.+)$/m.exec(output)?.[1]
  const processor = cost === undefined ? '' : `, ${Number(cost).toFixed(1)} s of a processor`
  return { passed, total, need, isBad, line: `${passed}/${total} ${seconds.toFixed(1)} s${processor}` }
}

/** Says the last words and ends: a reader of a pipe that is slower than this process would miss what it had not taken yet. */
export function endWith(text, code) {
  process.stdout.write(text, () => process.exit(code))
}

function print(...lines) {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

/**
 * What a run came to, as its last lines: the tests that failed, and those that passed only when they ran again, each with what
 * it said first, and the count.
 */
export function summary({ passed, failed, files, failures, uneven = [] }, seconds) {
  const list = (word, found) =>
    found.flatMap(({ what, why }) => [
      `${word}: ${what}`,
      ...why.map((line) => `    | ${line.slice(0, WIDTH)}`),
    ])
  return [
    '',
    ...list('passed only alone', uneven),
    ...list('failed', failures),
    `${files} files in ${seconds} s`,
    `${passed} passed, ${failed} failed`,
    '',
  ].join('\n')
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
    .filter((line) => line !== '' && !/^(at |@@cost |(Total|Passed|Skipped|Duration):)/.test(line))
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
    .map((line) => `     ${line}`)
}
