import { type ChildProcess, execFile, spawn } from 'node:child_process'

const PORT = 4_242
/** Octets that the port above it gives: more than fit into a few segments. */
const LENGTH = 300_000
const SERVER = `
const { createServer } = require('net')
createServer((socket) => socket.on('error', () => {}).end(Buffer.alloc(${LENGTH}))).listen(${PORT + 1}, '0.0.0.0')
createServer((socket) => socket.end(socket.remoteAddress)).listen(${PORT}, '0.0.0.0', () => console.log('up'))`
/** On a busy machine an answer may take long; that none comes is believed sooner. */
const PATIENCE_MS = 60_000
const IMPATIENCE_MS = 1_500
const CLIENT = `
const [, address, port] = process.argv
const socket = require('net').connect(Number(port), address)
let text = ''
socket.on('data', (piece) => { text += piece })
socket.on('end', () => { console.log(text.length === ${LENGTH} ? 'all of it' : text); process.exit() })
socket.on('error', () => { console.log('nothing'); process.exit() })`

/** A server in another namespace that tells each client the address that it sees it under. Gives what ends it. */
export async function tellsSource(inside: readonly string[]): Promise<() => void> {
  const [file = '', ...args] = [...inside, 'setpriv', '--pdeathsig', 'KILL', process.execPath, '-e', SERVER]
  const child: ChildProcess = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('close', () => reject(new Error('the server ended')))
  })
  return () => child.kill('SIGKILL')
}

/** What the server at that address tells a client in another namespace. */
export async function askedFrom(inside: readonly string[], address: string): Promise<string> {
  return await answer(inside, address, PATIENCE_MS)
}

/** Whether all of many octets come from there. */
export async function comesWhole(inside: readonly string[], address: string): Promise<boolean> {
  return (await answer(inside, address, 5_000, PORT + 1)) === 'all of it'
}

/** Whether no answer comes. */
export async function isUnreachable(inside: readonly string[], address: string): Promise<boolean> {
  return (await answer(inside, address, IMPATIENCE_MS)) === 'nothing'
}

async function answer(
  inside: readonly string[],
  address: string,
  timeout: number,
  port = PORT,
): Promise<string> {
  const [file = '', ...args] = [...inside, process.execPath, '-e', CLIENT, address, String(port)]
  return await new Promise((resolve) => {
    execFile(file, args, { timeout, killSignal: 'SIGKILL' }, (_error, stdout) =>
      resolve(stdout.trim() || 'nothing'),
    )
  })
}
