import { spawn } from 'node:child_process'
import { until } from '../service.ts'
import { INTERNET, type Place } from './places.ts'

const PORT = 4_242
const CLIENT = `
const socket = require('net').connect(${PORT}, '${INTERNET}')
socket.setTimeout(3000, () => process.exit())
socket.on('data', (piece) => process.stdout.write(piece))
socket.on('error', () => process.exit())`

const SERVER = `
require('net').createServer((socket) => {
  socket.on('error', () => undefined)
  socket.end(socket.remoteAddress)
}).listen(${PORT}, '${INTERNET}', () => console.log('up'))`

/** A server of the internet that tells each client under which address it sees it: a process of the test's machine. */
export async function startTeller(): Promise<void> {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    server.stdout.once('data', () => resolve())
    server.once('close', () => reject(new Error('the server of the internet ended')))
  })
  server.unref()
  server.stdout.destroy()
}

/** Under which address the internet sees a place; empty while it does not get there. */
export function seenAs(place: Place): string {
  return place.run(process.execPath, '-e', CLIENT)
}

/** Waits until the internet sees a place under that address. */
export async function untilSeenAs(place: Place, address: string, limitMs: number): Promise<void> {
  await until(async () => seenAs(place) === address, limitMs)
}
