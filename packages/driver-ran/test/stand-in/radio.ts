// A stand-in for srsenb and gnb: replays a recording and records every sample that it "sends".
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import type { Duplex } from 'node:stream'
import { linesOf } from '../support/recordings.ts'
import { readEnbFiles } from './enb-files.ts'
import { CORE_FIGURES, figuresLine, isLogged, readGnbFile } from './gnb-file.ts'
import type { Scenario } from './scenario.ts'

const scenario = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Scenario
const samples = openSync(scenario.samples, 'a')
const [node = '', script = '', file = '', role = ''] = process.argv
const isEscaped = role === 'escaped'
if (role !== 'between') appendFileSync(`${scenario.samples}.pids`, `${process.pid}\n`)
let isMuted = false
let sending: NodeJS.Timeout | undefined
let isSending = false

/** What a gnb has printed into its pipe and not yet sent; undefined of a program that sends each line. */
let unsent: string[] | undefined
const print = (stream: 'out' | 'err', text: string): void => {
  if (stream === 'err') return void writeSync(2, `${text}\n`)
  unsent?.push(text)
  if (unsent === undefined) writeSync(1, `${text}\n`)
  else if (isLogged(text))
    writeSync(
      1,
      unsent
        .splice(0)
        .map((line) => `${line}\n`)
        .join(''),
    )
}
process.on('exit', () => {
  for (const text of unsent ?? []) writeSync(1, `${text}\n`)
})
const send = (): void => {
  writeSync(samples, `${process.hrtime.bigint()} ${isMuted ? 0 : 1}\n`)
}
const goOnAir = (): void => {
  if (sending !== undefined) return
  isSending = true
  send()
  sending = setInterval(send, 2)
}

// As srsenb and gnb, it reads its files before anything else. A gnb names its file by an option.
const lastArgument = process.argv.at(-1) ?? ''
const isFirst = role !== 'child' && role !== 'between' && !isEscaped
if (lastArgument.endsWith('/enb.conf') && isFirst) {
  const { lines, code } = readEnbFiles(lastArgument)
  for (const text of lines) print('err', text)
  if (code !== undefined) process.exit(code)
}
const isGnb = lastArgument.endsWith('/gnb.yml') && isFirst
if (isGnb) {
  const { lines, code, isLogging } = readGnbFile(lastArgument)
  for (const { stream, text } of lines) print(stream, text)
  if (code !== undefined) process.exit(code)
  unsent = []
  // Its threads go on looking for samples when none come.
  setInterval(() => undefined, 2)
  const tell = (): void => {
    print('out', CORE_FIGURES)
    if (isSending) print('out', figuresLine(scenario.phones ?? 0))
  }
  if (isLogging) setInterval(tell, 1_000)
}
// Its thread has the name that the driver looks for.
writeFileSync('/proc/self/comm', isGnb ? 'lower_phy#0' : 'TXRX')

const speed = scenario.speed ?? 1
const recorded =
  scenario.recording === undefined || isEscaped ? [] : linesOf(readFileSync(scenario.recording, 'utf8'))
const untilMs = scenario.untilMs ?? Number.POSITIVE_INFINITY
for (const { atMs, stream, text } of recorded)
  if (atMs <= untilMs) setTimeout(() => print(stream, text), atMs / speed)
for (const { atMs, stream, text } of scenario.lines ?? []) setTimeout(() => print(stream, text), atMs)
const { says } = scenario
if (says !== undefined) {
  let told = 0
  setInterval(() => {
    const lines = readFileSync(says, 'utf8').split('\n').slice(0, -1)
    for (const text of lines.slice(told)) print('out', text)
    told = lines.length
  }, 50)
}
if (scenario.onAirAtMs !== undefined) setTimeout(goOnAir, scenario.onAirAtMs)
const stall = (): void => {
  clearInterval(sending)
  isSending = false
}
if (scenario.stallsAtMs !== undefined) setTimeout(stall, scenario.stallsAtMs)
if (scenario.exit !== undefined) {
  const { atMs, code } = scenario.exit
  setTimeout(() => process.exit(code), atMs)
}
if (scenario.metricsPort !== undefined) serveMetrics(scenario.metricsPort, scenario.metrics ?? [])
if (scenario.spawnsChild === true && role !== 'child') {
  spawn(node, [...process.execArgv, script, file, 'child'], { stdio: 'inherit' })
}
const { leaves } = scenario
const leave = (as: 'between' | 'escaped'): void => {
  const env = leaves?.isBare === true ? {} : process.env
  spawn(node, [...process.execArgv, script, file, as], { stdio: 'inherit', detached: true, env }).unref()
}
if (isEscaped) goOnAir()
else if (role === 'between') {
  leave('escaped')
  process.exit(0)
} else if (leaves !== undefined) {
  process.once('SIGUSR2', () => {
    leave(leaves.isTwice === true ? 'between' : 'escaped')
    if (leaves.endsAfterMs !== undefined) setTimeout(() => process.exit(0), leaves.endsAfterMs)
  })
}

const teardownMs = scenario.teardownMs ?? 2_000
let isEnding = false
const end = (): void => {
  if (isEnding || isEscaped || scenario.onTerm === 'ignore') return
  isEnding = true
  if (scenario.onTerm === 'stall') {
    setTimeout(() => {
      print('err', "Couldn't stop after 5s. Forcing exit.")
      process.kill(process.pid, 'SIGKILL')
    }, 5_000)
    return
  }
  setTimeout(() => clearInterval(sending), 60)
  setTimeout(() => {
    print('out', 'Stopping ..')
    print('out', '---  exiting  ---')
    process.exit(0)
  }, teardownMs)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end)

if (scenario.ignoresInput !== true && !isEscaped) {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [command, cell, gain] = line.split(' ')
    if (line.trim() === '') process.exit(1)
    if (command !== 'cell_gain') return
    if (cell === '1') isMuted = Number(gain) <= -100 && Number.isFinite(Number(gain))
    else print('out', `cell ID ${cell} not found`)
  })
}
// As a radio: it runs until it is told to end.
setInterval(() => undefined, 60_000)

/** A WebSocket server as gnb's: any path, pushes `messages` in turn every 20 ms once it is asked to. */
function serveMetrics(port: number, messages: readonly object[]): void {
  const server = createServer()
  server.on('upgrade', (request, socket: Duplex) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.on('error', () => socket.destroy())
    socket.on('data', (frame: Buffer) => {
      if (!unmasked(frame).includes('metrics_subscribe')) return
      let next = 0
      const push = setInterval(() => {
        const message = messages[Math.min(next, messages.length - 1)]
        next += 1
        socket.write(textFrame(JSON.stringify(message)))
      }, 20)
      socket.once('close', () => clearInterval(push))
    })
  })
  server.listen(port, '127.0.0.1')
}

function unmasked(frame: Buffer): string {
  const length = (frame[1] ?? 0) & 0x7f
  const mask = frame.subarray(2, 6)
  return Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0))).toString()
}

function textFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const head = payload.length < 126 ? Buffer.from([0x81, payload.length]) : Buffer.alloc(4)
  if (payload.length >= 126) {
    head.writeUInt16BE(0x817e, 0)
    head.writeUInt16BE(payload.length, 2)
  }
  return Buffer.concat([head, payload])
}
