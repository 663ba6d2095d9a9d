import type { ImsiHash, Reader } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { listSorted } from '../src/find/sorted.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { countUnsynced, findSims, lastFirstAttached, unsyncedSims } from '../src/store/sim-store.ts'

const order = suite('sims/index-order')

const KEPT = `select i.name as index_name, c.name as column_name, i.partial from pragma_index_list('sims_sim') i
  join pragma_index_info(i.name) c order by i.name, c.seqno`

order('adds the rows of one import beside each other to all indexes but that of its key', async () => {
  const db = memoryDb(MIGRATIONS)
  const rows = await db.all<{
    readonly index_name: string
    readonly column_name: string
    readonly partial: number
  }>(KEPT)
  const columns = Map.groupBy(rows, ({ index_name }) => index_name)
  const scattered = [...columns].filter(([, of]) => {
    const names = of.map(({ column_name }) => column_name)
    const [hash, issued] = [names.indexOf('hash'), names.indexOf('issued_at_ms')]
    const isOfFew = of.some(({ partial }) => partial === 1)
    // What cards of a delivery share comes first.
    const isByCard = names.includes('iccid_mac') && names[0] !== 'iccid_mac'
    const isByEnd = names[0] === 'iccid_last4'
    return !isOfFew && (isByCard || isByEnd || (hash >= 0 && (issued < 0 || issued > hash)))
  })
  assert.equal(
    scattered.map(([name]) => name),
    ['sqlite_autoindex_sims_sim_1'],
  )
  db.close()
})

order('finds what waits for the HSS, a label and the SIM seen last by indexes', async () => {
  const db = memoryDb(MIGRATIONS)
  const plans: string[] = []
  const explain: Reader['all'] = async (sql, params) => {
    const steps = await db.all<{ readonly detail: string }>(`explain query plan ${sql}`, params)
    plans.push(steps.map(({ detail }) => detail).join('; '))
    return await db.all(sql, params)
  }
  const explaining: Reader = {
    all: explain,
    get: async (sql, params) => (await explain(sql, params)).at(0) as never,
  }
  await unsyncedSims(explaining, 'open5gs')
  await countUnsynced(explaining)
  await findSims(explaining, { label: 'van' }, { limit: 10 }, { issuedAtMs: 1, hash: 'a' })
  await lastFirstAttached(explaining)
  const at = { issuedAtMs: 1, hash: 'a' as ImsiHash }
  await listSorted(explaining, {}, 'label', true, 10, { ...at, value: 'van' })
  await listSorted(explaining, {}, 'state', false, 10, { ...at, value: 'issued' })
  await listSorted(explaining, {}, 'expires_at', true, 10, { ...at, value: 1 })
  const waiting = 'SEARCH sims_sim USING COVERING INDEX sims_sim_waiting'
  assert.equal(plans, [
    `${waiting} (hss_status=?)`,
    `${waiting} (hss_status=? AND hss_driver=?)`,
    `${waiting} (hss_status=? AND hss_driver<?)`,
    `${waiting} (hss_status=? AND hss_driver>?)`,
    `${waiting} (hss_status=?)`,
    'SEARCH sims_sim USING INDEX sims_sim_labelled (label=? AND (issued_at_ms,hash)<(?,?))',
    'SEARCH sims_sim USING INDEX sims_sim_first_attached (attached_at_ms>?)',
    'SEARCH sims_sim USING INDEX sims_sim_by_label (<expr><?)',
    'SCAN sims_sim USING INDEX sims_sim_issued',
    'SEARCH sims_sim USING COVERING INDEX sims_sim_state ((state,issued_at_ms,hash)>(?,?,?))',
    'SEARCH sims_sim USING COVERING INDEX sims_sim_by_expiry ((expires_at_ms,issued_at_ms,hash)<(?,?,?))',
  ])
  db.close()
})

order.run()
