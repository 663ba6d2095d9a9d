import {
  bytesText,
  Card,
  Checkboxes,
  choices,
  download,
  Field,
  Form,
  Time,
  t,
  useQuery,
  useState,
} from '@steeple/console/kit'

const KINDS = ['lifecycle', 'sim', 'tx', 'policy', 'session', 'stay', 'export', 'checkpoint'] as const

/** The file that the regulator gets, of a time and of what it is to be about. */
export function Panel() {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [kinds, setKinds] = useState<ReadonlySet<string>>(new Set(KINDS))
  return (
    <Card title={t('system.regulator')}>
      <p>{t('system.regulator.what')}</p>
      <Form
        submit={t('system.regulator.take')}
        isDisabled={kinds.size === 0}
        act={() => download('/v1/compliance/export', { query: queryOf(from, to, kinds), timeoutMs: 120_000 })}
        done={({ name, bytes }) => t('system.file.taken', { name, size: bytesText(bytes) })}
      >
        <Field text="system.regulator.from" type="date" value={from} onInput={setFrom} />
        <Field text="system.regulator.to" type="date" value={to} onInput={setTo} />
        <Checkboxes
          legend={t('system.regulator.kinds')}
          options={choices('system.regulator.kind', KINDS)}
          chosen={kinds}
          onChange={setKinds}
        />
      </Form>
      <Erasures />
    </Card>
  )
}

/** Midnights of the reader. The last day is whole. */
function queryOf(from: string, to: string, kinds: ReadonlySet<string>): Readonly<Record<string, string>> {
  const end = new Date(`${to}T00:00`)
  if (to !== '') end.setDate(end.getDate() + 1)
  return {
    ...(from === '' ? {} : { from: new Date(`${from}T00:00`).toISOString() }),
    ...(to === '' ? {} : { to: end.toISOString() }),
    ...(kinds.size === KINDS.length ? {} : { kinds: [...kinds].join(',') }),
  }
}

function Erasures() {
  const { data } = useQuery('/v1/compliance/erasures', {}, { on: ['sim.forget', 'sim.erase'] })
  if (data === undefined || data.erasures.length === 0) return null
  return (
    <>
      <h3>{t('system.erasures')}</h3>
      <ul>
        {data.erasures.map((one) => (
          <li key={one.imsi_sha256_12}>
            <code>{one.imsi_sha256_12}</code> · <Time at={one.asked_at} relative /> ·{' '}
            {one.waits_for ?? t('system.erasures.soon')}
          </li>
        ))}
      </ul>
    </>
  )
}
