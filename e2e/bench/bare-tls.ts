// The ceiling of a handshake: node's own HTTPS server with the same keys and demands, and nothing behind it.
import https from 'node:https'

process.once('message', (message) => {
  // tls.ts sends exactly this.
  const options = message as https.ServerOptions
  const server = https.createServer(
    { ...options, requestCert: true, minVersion: 'TLSv1.3' },
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}')
    },
  )
  server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
})
