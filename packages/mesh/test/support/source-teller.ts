import { type ChildProcess, execFile, spawn } from 'node:child_process'

const PORT = 4_242
const SERVER = `
require('net').createServer((socket) => socket.end(socket.remoteAddress)).listen(${PORT}, '0.0.0.0', () => console.log('up'))`
/** On a busy machine an answer may take long; that none comes is believed sooner. */
const PATIENCE_MS = 60_000
const IMPATIENCE_MS = 1_500
const CLIENT = `
const socket = require('net').connect(${PORT}, process.argv[1])
let text = ''
socket.on('data', (piece) => { text += piece })
socket.on('end', () => { console.log(text); process.exit() })
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

/** Whether no answer comes. */
export async function isUnreachable(inside: readonly string[], address: string): Promise<boolean> {
  return (await answer(inside, address, IMPATIENCE_MS)) === 'nothing'
}

async function answer(inside: readonly string[], address: string, timeout: number): Promise<string> {
  const [file = '', ...args] = [...inside, process.execPath, '-e', CLIENT, address]
  return await new Promise((resolve) => {
    execFile(file, args, { timeout, killSignal: 'SIGKILL' }, (_error, stdout) =>
      resolve(stdout.trim() || 'nothing'),
    )
  })
}
