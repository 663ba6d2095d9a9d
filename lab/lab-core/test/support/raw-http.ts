import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** Everything that a server sends for a request, as it comes over the wire. */
export async function rawHttp(url: string, method: string, path: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(`${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  return await text(socket)
}
