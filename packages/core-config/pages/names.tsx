import {
  type AnswerOf,
  api,
  ByHand,
  Card,
  Field,
  Form,
  FormDialog,
  Notice,
  t,
  useEffect,
  useQuery,
  useState,
  useTyped,
} from '@steeple/console/kit'
import { Lines, Restarts } from './planned.tsx'

type Planned = AnswerOf<'PUT', '/v1/settings'>
type Wanted = Readonly<Record<string, string | readonly string[]>>

const NAME = 'core_a.network_name'
const DNS = 'core_a.dns'

/** What phones are told of the network: its name, and where they ask for names. Only where the box writes the files of the core. */
export function Panel() {
  const { data, etag, reload } = useQuery('/v1/settings', {}, { on: ['settings.*', 'config.*'] })
  if (data === undefined) return null
  const inForce = (key: string): unknown => data.settings.find((one) => one.key === key)?.value
  const network = inForce(NAME)
  if (typeof network !== 'string' || inForce('core') !== 'core_a' || inForce('southbound.driver') === 'none')
    return null
  return (
    <Told
      name={network}
      dns={serversIn(inForce(DNS), inForce('core_a.addresses'))}
      ifMatch={etag}
      onDone={reload}
    />
  )
}

/** Those of their own key, else those among the addresses. */
function serversIn(own: unknown, addresses: unknown): string {
  if (Array.isArray(own) && own.length > 0) return own.join(', ')
  const { dns, dns2 } = (addresses ?? {}) as { readonly dns?: string; readonly dns2?: string } // as the schema has it
  return [dns, dns2].filter((one) => one !== undefined).join(', ')
}

function Told({
  name,
  dns,
  ifMatch,
  onDone,
}: {
  readonly name: string
  readonly dns: string
  readonly ifMatch: string | undefined
  readonly onDone: () => void
}) {
  const { typed, setTyped, of } = useTyped({ name, dns })
  const [planned, setPlanned] = useState<Planned>()
  useEffect(() => setTyped({ name, dns }), [name, dns])
  const wanted: Wanted = {
    ...(typed.name === name ? {} : { [NAME]: typed.name }),
    ...(typed.dns === dns ? {} : { [DNS]: typed.dns.split(/[\s,;]+/).filter((one) => one !== '') }),
  }
  const send = (isDry: boolean) =>
    api.put('/v1/settings', {
      ...(isDry ? { query: { dry_run: true } } : {}),
      body: { settings: wanted },
      ifMatch,
    })
  const isByHand = planned !== undefined && (!planned.writable || planned.fixed.length > 0)
  return (
    <Card title={t('core.told')}>
      <p>{t('core.told.about')}</p>
      <Form
        submit={t('core.whatIf.look')}
        isDisabled={Object.keys(wanted).length === 0}
        act={() => send(true)}
        onDone={setPlanned}
      >
        <Field {...of('name')} text="core.told.name" name={`settings/${NAME}`} maxLength={32} isRequired />
        <Field {...of('dns')} text="core.told.dns" name={`settings/${DNS}`} maxLength={100} />
      </Form>
      {planned === undefined ? null : (
        <FormDialog
          title={t('core.whatIf')}
          confirm={t('core.told.save')}
          isDisabled={isByHand}
          act={() => send(false)}
          done={t('core.told.saved')}
          onDone={onDone}
          onClose={() => setPlanned(undefined)}
        >
          {isByHand ? <ByHand planned={planned} /> : <Effect core={planned.core} />}
        </FormDialog>
      )}
    </Card>
  )
}

/** Which parts restart, whom it costs the network, and what else the core says to it. */
function Effect({ core }: Pick<Planned, 'core'>) {
  return (
    <>
      <Cost core={core} />
      {core === null ? null : <Lines lines={[...core.problems, ...core.notes]} />}
    </>
  )
}

function Cost({ core }: Pick<Planned, 'core'>) {
  const { restarts, subscribers_dropped: dropped, expected_s: seconds, problems } = core ?? NOTHING
  if (restarts.length > 0)
    return (
      <Notice tone={dropped === 0 ? 'ok' : 'warn'}>
        <Restarts daemons={restarts} dropped={dropped} />
        {seconds === null ? null : <p>{t('core.plan.seconds', { count: Math.round(seconds) })}</p>}
      </Notice>
    )
  // The core could not be looked at.
  return dropped === null && problems.length > 0 ? (
    <Notice tone="warn">{t('core.whatIf.state.unknown')}</Notice>
  ) : (
    <Notice tone="ok">{t('core.found.cost.none')}</Notice>
  )
}

const NOTHING: NonNullable<Planned['core']> = {
  ...{ restarts: [], subscribers_dropped: 0, expected_s: 0, notes: [], problems: [] },
}
