// A hostile client in a process of its own: gets one attack by message, says when it is under way, runs until it is killed.
import { connect, type Socket } from 'node:net'
import type { Attack } from './start-attack.ts'

process.once('message', (message) => {
  // start-attack.ts sends exactly this.
  const attack = message as Attack
  for (let index = 0; index < attack.connections; index++) open(attack)
  setTimeout(() => process.send?.('under way'), attack.leavesAfterMs ?? 0)
})

function open(attack: Attack): void {
  const socket = connect(attack.port, '127.0.0.1')
  // A cut connection is what is hoped for.
  socket.on('error', () => undefined)
  socket.once('connect', () => begin(socket, attack))
  if (attack.isRepeated === true) socket.once('close', () => setTimeout(() => open(attack), 20))
}

function begin(socket: Socket, { text, times, reads, leavesAfterMs, isRepeated }: Attack): void {
  if (reads === true) socket.on('data', () => undefined)
  else socket.pause()
  socket.write(text.repeat(times), 'latin1')
  if (leavesAfterMs !== undefined) setTimeout(() => socket.destroy(), leavesAfterMs)
  if (isRepeated === true && reads === true) {
    socket.on('drain', () => socket.write(text.repeat(times), 'latin1'))
    setInterval(() => socket.writable && socket.write(text, 'latin1'), 5)
  }
}
