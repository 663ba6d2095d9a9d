// Serves the lists of AMF and SMF of a free5GC core with so many phones: node oam-pages.ts COUNT. Says where by IPC.
import { createServer } from 'node:http'

const count = Number(process.argv[2] ?? 0)

const refOf = (n: number): string => `urn:uuid:00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const phone = (n: number) => ({
  AccessType: '3GPP_ACCESS',
  Supi: `imsi-99970${String(n).padStart(10, '0')}`,
  Guti: '99970cafe0000000001',
  Mcc: '999',
  Mnc: '70',
  Tac: '000007',
  PduSessions: [{ PduSessionId: '1', SmContextRef: refOf(n), Sst: '1', Sd: '010203', Dnn: 'internet' }],
  CmState: n % 2 === 0 ? 'CONNECTED' : 'IDLE',
})
const LIST = count === 0 ? 'null' : JSON.stringify(Array.from({ length: count }, (_, n) => phone(n)))
const session = (n: number): string =>
  `{"Supi":"imsi-99970${String(n).padStart(10, '0')}","PDUSessionID":"1","Dnn":"internet","Sst":"1","Sd":"010203","AnType":"3GPP_ACCESS","PDUAddress":"10.${60 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}","SessionRule":{"sessRuleId":""},"UpCnxState":"ACTIVATED","Tunnel":{"PathIDGenerator":null,"DataPathPool":null,"ANInformation":{"IPAddress":"","TEID":0}}}`

const server = createServer(({ url = '' }, response) => {
  const isList = url.startsWith('/namf-oam/')
  response.setHeader('content-type', 'application/json; charset=utf-8')
  response.end(isList ? LIST : session(Number(url.slice(-12))))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.on('disconnect', () => process.exit(0))
