import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { assert, suite } from '@steeple/testkit'
import { createConnectionLimiter, peerOf } from '../src/listen/tls-listener.ts'

const crowds = suite('esim-smdp/crowd')

let port = 1_024
/** A connection of an address; it can be closed, and says whether it is. */
function connection(remoteAddress: string): Socket {
  port += 1
  const socket = Object.assign(new EventEmitter(), { remoteAddress, remotePort: port, destroyed: false })
  const destroy = (): void => {
    socket.destroyed = true
    socket.emit('close')
  }
  // What a crowd uses of a socket.
  return Object.assign(socket, { destroy }) as unknown as Socket
}

crowds('lets a phone in behind an address whose other connections are held for nothing', () => {
  const limiter = createConnectionLimiter(10, 3)
  const held = Array.from({ length: 3 }, () => connection('192.0.2.1'))
  for (const socket of held) assert.ok(limiter.admit(socket))
  const phone = connection('192.0.2.1')
  assert.ok(limiter.admit(phone))
  assert.equal(
    held.map(({ destroyed }) => destroyed),
    [true, false, false],
  )
  assert.is(limiter.size, 3)
})

crowds('refuses one more while all of its network are at work', () => {
  const limiter = createConnectionLimiter(10, 2)
  const busy = Array.from({ length: 2 }, () => connection('2001:db8::1'))
  for (const socket of busy) {
    limiter.admit(socket)
    limiter.begin(peerOf(socket))
  }
  const more = connection('2001:db8::2')
  assert.not.ok(limiter.admit(more))
  assert.ok(more.destroyed)
  assert.ok(limiter.admit(connection('2001:db8:0:1::1')))
  const [first] = busy
  if (first !== undefined) limiter.over(peerOf(first))
  assert.ok(limiter.admit(connection('2001:db8::3')))
  assert.equal(
    busy.map(({ destroyed }) => destroyed),
    [true, false],
  )
})

crowds.run()
