import type { Socket } from 'node:net'
import { type ClientHello, readClientHello } from './client-hello.ts'

/**
 * The first words of a client, which stay in the socket to be read again; undefined for whoever says none within the time, or
 * none of TLS. Never rejects.
 */
export function peekHello(socket: Socket, withinMs: number): Promise<ClientHello | undefined> {
  return new Promise((resolve) => {
    let octets = Buffer.alloc(0)
    const over = (hello: ClientHello | undefined): void => {
      clearTimeout(timer)
      socket.removeListener('readable', look)
      socket.removeListener('close', leave)
      if (hello !== undefined) socket.unshift(octets)
      resolve(hello)
    }
    const leave = (): void => over(undefined)
    const look = (): void => {
      const part: Buffer | null = socket.read()
      if (part === null) return
      octets = Buffer.concat([octets, part])
      const hello = readClientHello(octets)
      if (hello !== 'more') over(hello)
    }
    const timer = setTimeout(leave, withinMs)
    socket.on('readable', look)
    socket.once('close', leave)
  })
}
