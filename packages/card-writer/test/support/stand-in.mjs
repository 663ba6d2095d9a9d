// Stands in for pySim-shell with a card: takes the same arguments and script, and refuses and prints what the real one did (1.0-1454-g597f1e0
// with a software card). STATE names a file with what is in the reader.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const [state, ...args] = process.argv.slice(2)
const option = (name) => args[args.indexOf(name) + 1]
const reader = JSON.parse(readFileSync(state, 'utf8'))
// What others on the machine can see of it.
const seen = [
  args.join(' '),
  readFileSync('/proc/self/environ', 'latin1'),
  readFileSync('/proc/self/cmdline', 'latin1'),
]
appendFileSync(`${state}.seen`, `${seen.join('\n')}\n`)
if (Number(option('-p')) !== 0)
  fail(1, `pySim.exceptions.ReaderError: No reader found for number ${option('-p')}`)
process.stdout.write('INFO: Using reader PCSC[Virtual PCD 00 00]\nINFO: Waiting for card...\n')
const { card } = reader
if (card === null) fail(2, 'Card initialization failed with an exception:\npySim.exceptions.NoCardError')
if (card.model !== '') process.stdout.write(`INFO: Detected CardModel: ${card.model}\n`)

const PATHS = { MF: '3f00', 'EF.ICCID': '2fe2', 'ADF.USIM': '7ff0', 'DF.SYSTEM': 'a515' }
const script = readFileSync(option('--script'), 'utf8')
let [file, isOpen] = ['', false]
const history = []
for (const line of script.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
  history.push(line)
  const [command, ...words] = line.split(' ')
  if (command === 'echo') process.stdout.write(`${words.join(' ')}\n`)
  else if (command === 'verify_adm') verify(words.at(-1))
  else if (command === 'select') select(words[0])
  else if (file === '') error(`${command} is not a recognized command, alias, or macro.`)
  else if (command === 'read_binary') process.stdout.write(`${card.files[file]}\n`)
  else if (command === 'update_binary') update(words[0])
  else error(`${command} is not a recognized command, alias, or macro.`)
}
writeFileSync(state, JSON.stringify(reader))
if (!args.join(' ').includes('-e set scripts_add_to_history false')) {
  mkdirSync(process.env.HOME, { recursive: true })
  writeFileSync(`${process.env.HOME}/.pysim_shell_history`, history.join('\n'))
}

function verify(code) {
  isOpen = code === card.adm && card.tries > 0
  card.tries = isOpen ? 3 : Math.max(0, card.tries - 1)
  if (!isOpen)
    error(`RuntimeError: Failed to verify chv_no 0x0A with code 0x${code}, ${card.tries} tries\nleft.`)
}

function select(name) {
  file = name in card.files ? name : ''
  if (name in PATHS && file === '') return
  if (file === '')
    error(`ValueError: Cannot select unknown file by name ${name}, only\nhexadecimal 4 digit FID is allowed`)
  else
    process.stdout.write(
      `{"file_identifier": "${PATHS[name] ?? '6f00'}", "file_size": ${card.files[name].length / 2}}\n`,
    )
}

function update(octets) {
  const before = card.files[file]
  // As the real one does, which reads first and leaves what is the same.
  if (before.startsWith(octets)) return
  if (!isOpen)
    return error('SwMatchError: SW match failed! Expected 9000 and got 6982: Security status not\nsatisfied')
  if (card.isWornOut)
    return error('SwMatchError: SW match failed! Expected 9000 and got 6581: Memory problem')
  card.files[file] = octets + before.slice(octets.length)
  process.stdout.write(`"${octets}"\n`)
}

function error(text) {
  process.stderr.write(`${text}\n\nTo enable full traceback, run the following command: set debug true\n\n`)
}

function fail(code, text) {
  process.stderr.write(`Traceback (most recent call last):\n${text}\n`)
  if (existsSync(state)) process.exit(code)
}
