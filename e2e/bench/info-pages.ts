// Serves the lists of MME and SMF of a core with so many phones: node info-pages.ts COUNT. Says where by IPC.
import { createServer } from 'node:http'

const PAGE = 100
const count = Number(process.argv[2] ?? 0)

const ueItem = (n: number) => ({
  supi: imsi(n),
  domain: 'EPS',
  rat: 'E-UTRA',
  cm_state: n % 2 === 0 ? 'connected' : 'idle',
  mm_state: 'registered',
  enb: { ostream_id: 1, mme_ue_ngap_id: n, ran_ue_ngap_id: n, enb_id: 348_004, cell_id: 17_275_823 },
  location: { tai: { plmn: '99999', tac_hex: '0001', tac: 1 }, timestamp: 1_795_175_304_512_721 },
  ambr: { downlink: 1_000_000_000, uplink: 1_000_000_000 },
  pdn: [
    {
      apn: 'internet',
      qos_flows: [{ ebi: 5 }],
      qci: 9,
      ebi: 5,
      bearer_count: 1,
      pdu_state: 'active',
    },
  ],
  pdn_count: 1,
})
const pduItem = (n: number) => ({
  supi: `imsi-${imsi(n)}`,
  pdu: [
    {
      ebi: 5,
      apn: 'internet',
      ipv4: `10.45.${n >> 8}.${n & 255}`,
      ipv6: `2001:db8:${(n >> 8).toString(16)}:${(n & 255).toString(16)}::2`,
      snssai: { sst: 0, sd: '000000' },
      qos_flows: [{ ebi: 5, qci: 9 }],
      pdu_state: 'unknown',
      ue_location_timestamp: 0,
    },
  ],
  ue_activity: 'unknown',
})
const LISTS: Readonly<Record<string, (n: number) => object>> = { '/ue-info': ueItem, '/pdu-info': pduItem }

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://core')
  const itemOf = LISTS[pathname]
  const page = Number(searchParams.get('page'))
  const from = page * PAGE
  const here = Math.max(0, Math.min(PAGE, count - from))
  const items = Array.from({ length: here }, (_, index) => itemOf?.(from + index))
  const next = from + PAGE < count ? { next: `${pathname}?page=${page + 1}` } : {}
  response.setHeader('connection', 'close')
  response.end(JSON.stringify({ items, pager: { page, page_size: PAGE, count: here, ...next } }))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.on('disconnect', () => process.exit(0))

function imsi(n: number): string {
  return `99999${String(n).padStart(10, '0')}`
}
