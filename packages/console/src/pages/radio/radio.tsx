import { may } from '../../api/session.ts'
import { useQuery } from '../../api/use-query.ts'
import { tx } from '../../app/transmitter.tsx'
import { t } from '../../text/index.ts'
import { ErrorNotice } from '../../ui/notice.tsx'
import { CheckForm } from './check-form.tsx'
import { Gates } from './gates.tsx'
import { Profiles } from './profiles.tsx'
import { RadioHealth } from './radio-health.tsx'
import { SpectrumMap } from './spectrum-map.tsx'
import './radio.css'

/** What changes a profile, or what keeps it off the air. */
const CHANGES = { on: ['tx.*', 'policy.*', 'config.*'], everyMs: 30_000 } as const

/** The radio: whether it may send, on what, and what it says of itself. */
export function Page() {
  const profiles = useQuery('/v1/tx/profiles', {}, CHANGES)
  const ranges = useQuery('/v1/spectrum/ranges', {}, CHANGES)
  const error = profiles.error ?? ranges.error
  const rows = profiles.data?.profiles ?? []
  return (
    <>
      <h1>{t('radio.title')}</h1>
      {error === undefined ? null : (
        <ErrorNotice error={error} onRetry={profiles.error === undefined ? ranges.reload : profiles.reload} />
      )}
      <Gates state={tx.value} country={ranges.data?.country} />
      <RadioHealth />
      {profiles.data === undefined ? null : (
        <Profiles profiles={rows} country={ranges.data?.country ?? ''} ranges={ranges.data?.ranges ?? []} />
      )}
      {ranges.data === undefined ? null : <SpectrumMap ranges={ranges.data} profiles={rows} />}
      {may('operator') ? <CheckForm /> : null}
    </>
  )
}
