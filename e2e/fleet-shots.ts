import { setTimeout as delay } from 'node:timers/promises'
import { findBrowser, openBrowser } from './harness/browser.ts'
import { goTo, signInWithToken } from './harness/console-page.ts'
import { fleetOf } from './harness/mesh/hub.ts'
import { newWireguard } from './harness/mesh/simulated-box.ts'
await using stage = new AsyncDisposableStack()
const N = Number(process.env.N ?? 300)
const { service, boxes } = await fleetOf(stage, N)
const silent = new Set(boxes.slice(10, 19).map((b) => b.id))
const beat = async (skip: Set<string>) => {
  for (let i = 0; i < boxes.length; i += 1) {
    const { id, ask } = boxes[i]!
    if (skip.has(id)) continue
    const ill = i % 60 === 3
    const components = [{ name: 'driver-ran.radio', status: ill ? 'degraded' : 'ok', detail: ill ? 'no radio is connected' : 'ok' }, { name: 'store', status: 'ok', detail: 'ok' }]
    const incidents = ill ? [{ kind: 'no_radio', severity: 'critical', title: 'No radio', since: '2026-11-29T10:00:00Z' }] : []
    await ask('POST', '/v1/telemetry', { node_id: id, at: new Date().toISOString(), seq: Date.now(), components, versions: { svc: i % 10 ? '0.3.0' : '0.2.0' }, node: { lifecycle: 'breakout', plmn: '999-70', on_air: !ill, radio_connected: !ill, channel: 'lte 1575', phones: i % 40, sims: 200, octets_today: i * 1e7, backlog: 0, incidents } })
  }
}
let n = 0
for (const box of boxes) {
  n += 1
  const k = n
  const port = await box.serve(() => ({ sims: k % 12 === 0 ? [{ imsi_sha256_12: box.id.replaceAll('-', '').slice(0, 12), label: `harbour ${k}`, state: k % 24 ? 'in-use' : 'suspended', iccid_last4: String(1000 + k) }] : [] }))
  await box.ask('PUT', `/v1/mesh/members/${box.id}/wireguard`, { ...newWireguard(), advertised: k % 50 === 0 ? [`10.${k % 200}.0.0/16`] : [], address: `127.0.0.1:${port}` })
}
await beat(new Set())
for (let i = 0; i < 4; i += 1) { await delay(14_000); await beat(silent) }
for (const b of boxes.slice(30, 33)) b.end()
console.log('ready')
const browser = await openBrowser(findBrowser()!, ['--ignore-certificate-errors'])
const { page } = await browser.open(`https://127.0.0.1:${service.port}`)
await page.waitForTimeout(2000)
await signInWithToken(page, service.token)
const look = async (name: string) => {
  for (const w of [1440, 390]) {
    await page.setViewportSize({ width: w, height: 900 })
    await page.waitForTimeout(1500)
    const h = await page.evaluate('document.documentElement.scrollHeight')
    const sw = await page.evaluate('document.documentElement.scrollWidth')
    console.log(name, w, 'height', h, 'width', sw)
    await page.screenshot({ path: `/tmp/steeple/shots/${name}-${w}.png`, fullPage: true })
  }
}
for (const [name, path] of [['overview', '/'], ['mesh', '/mesh'], ['system', '/system']] as const) {
  await page.setViewportSize({ width: 1440, height: 900 })
  await goTo(page, path)
  await page.waitForTimeout(4000)
  if (name === 'mesh') {
    await page.getByLabel('Name, number or card').fill('harbour')
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    await page.waitForTimeout(8000)
  }
  await beat(silent)
  await look(name)
}
await browser.close()
