// A DNS server that answers every question about the root as the root servers do: without names, which nobody reads here.
import { createSocket } from 'node:dgram'

/** The root's SOA (RFC 1035 §3.3.13). */
const SOA = Buffer.from(`00000600010000003c00160000${'00000001'.repeat(5)}`, 'hex')

const [, , address = ''] = process.argv
const server = createSocket('udp4')
server.on('message', (question, asked) => {
  const header = Buffer.from(question.subarray(0, 12))
  // An answer with one record and nothing behind it.
  header.writeUInt16BE(0x8180, 2)
  header.writeUInt16BE(1, 6)
  header.writeUInt32BE(0, 8)
  server.send(Buffer.concat([header, question.subarray(12, 17), SOA]), asked.port, asked.address)
})
server.bind(53, address, () => process.stdout.write('listening\n'))
