import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Apns } from './apns.tsx'
import { FirstPerson } from './first-person.tsx'
import { Step } from './step.tsx'
import { TestSim } from './test-sim.tsx'

/** The PLMN of laboratories, which no operator has. ITU-T E.212. */
const LAB_PLMN = '999-'

/** What a new box needs, in order; each step says whether it is done. */
export function Page() {
  const status = useQuery('/v1/status', {}, { on: ['config.*', 'policy.*'], everyMs: 5_000 })
  const gate = useQuery('/v1/tx/arm', {}, { on: ['policy.*', 'tx.*'], everyMs: 5_000 })
  const { data } = status
  const hasCountry = gate.data?.gates.country_code === 'set'
  return (
    <>
      <h1>{t('start.title')}</h1>
      <p>{t('start.about')}</p>
      {status.error === undefined ? null : <ErrorNotice error={status.error} onRetry={status.reload} />}
      <Step title={t('start.country')} isDone={hasCountry}>
        <p>
          {data === undefined
            ? ''
            : t(hasCountry ? 'start.country.is' : 'start.country.missing', { country: data.country })}
        </p>
        <ConfigKey name="server.country" value="DE" />
      </Step>
      <Step title={t('start.plmn')} isDone={data !== undefined}>
        <p>
          {data === undefined
            ? ''
            : t(data.plmn.startsWith(LAB_PLMN) ? 'start.plmn.lab' : 'start.plmn.is', { plmn: data.plmn })}
        </p>
        <ConfigKey name="plmn.mcc" value={'"262"'} />
        <ConfigKey name="plmn.mnc" value={'"98"'} />
      </Step>
      <Apns />
      <FirstPerson />
      <TestSim />
    </>
  )
}

/** What is decided where the service is started: no page can change it. */
function ConfigKey({ name, value }: { readonly name: string; readonly value: string }) {
  const variable = `SVC_${name.toUpperCase().replaceAll('.', '_')}`
  return (
    <p class="fine">
      <code>
        {name}: {value}
      </code>{' '}
      {t('start.config', { variable })}
    </p>
  )
}
