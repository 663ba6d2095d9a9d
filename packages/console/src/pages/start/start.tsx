import { useEffect } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Apns } from './apns.tsx'
import { Country } from './country.tsx'
import { FirstPerson } from './first-person.tsx'
import { Plmn } from './plmn.tsx'
import { TestSim } from './test-sim.tsx'
import { broughtIntoForce } from './use-settings.ts'

/** What a new box needs, in order; each step says whether it is done. */
export function Page() {
  const gate = useQuery('/v1/tx/arm', {}, { on: ['policy.*', 'tx.*', 'settings.*'], everyMs: 30_000 })
  useEffect(() => gate.reload(), [broughtIntoForce.value])
  return (
    <>
      <h1>{t('start.title')}</h1>
      <p>{t('start.about')}</p>
      {gate.error === undefined ? null : <ErrorNotice error={gate.error} onRetry={gate.reload} />}
      <Country isDone={gate.data?.gates.country_code === 'set'} />
      <Plmn />
      <Apns />
      <FirstPerson />
      <TestSim />
    </>
  )
}
