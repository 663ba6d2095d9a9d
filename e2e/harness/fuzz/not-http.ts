import { connect } from 'node:net'

/** Requests that are none, or that a proxy and a server may read differently. */
export function notHttp(): readonly Buffer[] {
  const request = 'GET /v1/healthz HTTP/1.1\r\nHost: a\r\n'
  const texts = [
    '\r\n\r\n\r\n',
    'hello\r\n\r\n',
    'GET\r\n\r\n',
    'GET /v1/healthz HTTP/9.9\r\n\r\n',
    'FOO /v1/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /v1/ healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /v1/healthz\u0000 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET v1/healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    `${request}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    `${request}Content-Length: -1\r\n\r\n`,
    `${request}Content-Length: 1e3\r\n\r\n`,
    `${request}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
    `${request}Transfer-Encoding: cow\r\n\r\n`,
    `${request}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `${request}No Colon\r\n\r\n`,
    `${request}A: b\r\n folded\r\n\r\n`,
    `${request}Bad\u0001Name: x\r\n\r\n`,
    `${request}X: a\u0000b\r\n\r\n`,
    `${request}X: ${'a'.repeat(20_000)}\r\n\r\n`,
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    `${request}${'X: y\r\n'.repeat(5_000)}\r\n`,
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ]
  return texts.map((text) => Buffer.from(text, 'latin1'))
}

/** What the service says to raw bytes until it closes, or for half a second. */
export function exchange(host: string, port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, host, () => socket.end(bytes))
    const bound = setTimeout(() => socket.destroy(), 500)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(bound)
      resolve(text)
    })
  })
}
