import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'

/** A WebSocket server as gnb's: any path, pushes `messages` in turn every 20 ms once it is asked to. */
export function serveMetrics(port: number, messages: readonly object[]): void {
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
