import {
  type AnswerOf,
  api,
  Button,
  Card,
  DialogButton,
  ErrorNotice,
  Form,
  may,
  Notice,
  Progress,
  Time,
  t,
  useAction,
  useEffect,
  useQuery,
  useState,
} from '@steeple/console/kit'
import { dropsText, Lines, Planned } from './planned.tsx'
import { Release } from './release.tsx'

/** What a change of the core's configuration would do now, before it is done. */
export function Panel({ isLab }: { readonly isLab: boolean }) {
  const query = useQuery('/v1/core/plan', {}, { on: ['core.*', 'config.*', 'policy.*'] })
  const { data, error, reload } = query
  const [released, setReleased] = useState<string>()
  return (
    <Card title={t('core.plan')}>
      <ErrorNotice error={error} onRetry={reload} />
      {data === undefined ? null : <Start driver={data.driver} />}
      {data === undefined ? null : <Planned plan={data} isLab={isLab} />}
      <Undone />
      {data === undefined || data.held.length === 0 || data.driver === 'none' ? null : (
        <TakeOver files={data.held} onDone={reload} />
      )}
      <div class="toolbar again">
        <Button onClick={reload}>{t('core.plan.again')}</Button>
      </div>
      {released === undefined ? null : <Notice tone="ok">{released}</Notice>}
      {data === undefined || !may('admin') ? null : (
        <Leaving
          plan={data}
          isLab={isLab}
          onDone={(words) => {
            setReleased(words)
            reload()
          }}
        />
      )}
    </Card>
  )
}

interface LeavingProps {
  readonly plan: AnswerOf<'GET', '/v1/core/plan'>
  readonly isLab: boolean
  readonly onDone: (said: string) => void
}

/** The way out, while the box drives the core or something of it is left in there. */
function Leaving({ plan, isLab, onDone }: LeavingProps) {
  const { driver, originals, overlays, held } = plan
  // Files that others wrote are held: after a release all are.
  const isLeft = overlays.length > 0 || (originals.length > 0 && held.length === 0)
  if (driver !== 'none' || isLeft) return <Release plan={plan} onDone={onDone} />
  return isLab ? null : <WhileWriting plan={plan} onDone={onDone} />
}

/** The same while the box writes SIMs into the HSS of a core that it only looks at. */
function WhileWriting(props: Pick<LeavingProps, 'plan' | 'onDone'>) {
  const { data } = useQuery('/v1/settings', {}, { on: ['config.*', 'settings.*'] })
  const { data: page } = useQuery('/v1/sims', { query: { limit: 1 } }, { on: ['sim.*'] })
  const isWriting = data?.settings.some(({ key, value }) => key === 'hss.driver' && value !== 'none')
  return isWriting === true && page !== undefined && page.sims.length > 0 ? <Release {...props} /> : null
}

const UNDONE = 'core.edit_undone'

/** Edits by hand of files of the core that the service has put right, and where they are kept. */
function Undone() {
  const { data } = useQuery('/v1/audit', { query: { action: UNDONE, limit: 3 } }, { on: [UNDONE] })
  if (data === undefined || data.entries.length === 0) return null
  return (
    <>
      <h3>{t('core.undone')}</h3>
      <ul class="plain">
        {data.entries.map(({ seq, at, detail }) => {
          const { files = [], copy = '' } = detail as { readonly files?: string[]; readonly copy?: string } // as it is told
          return (
            <li key={seq}>
              {t('core.undone.kept', { files: files.join(', '), copy })}{' '}
              <span class="fine">
                <Time at={at} relative />
              </span>
            </li>
          )
        })}
      </ul>
    </>
  )
}

/** While daemons are down: starts them where the box manages them, else says who does. */
function Start({ driver }: { readonly driver: string }) {
  const health = useQuery('/v1/health', {}, { on: ['health.*'] })
  const isDown = health.data?.incidents?.some(
    ({ kind, severity }) => severity === 'critical' && ['no_core', 'core_degraded'].includes(kind),
  )
  if (isDown !== true) return null
  const isOurs = driver !== 'none'
  return (
    <Notice tone="bad">
      <p>{t(isOurs ? 'core.start.here' : 'core.start.elsewhere')}</p>
      {isOurs && may('admin') ? (
        <DialogButton
          text="core.start"
          isDanger
          act={() => api.post('/v1/core/restart', { body: {} })}
          done={({ restarted }) => t('core.started', { daemons: restarted.join(', ') })}
        >
          <Restarting />
        </DialogButton>
      ) : null}
    </Notice>
  )
}

/** What would restart, those that follow another one too, and whom it costs the network. */
function Restarting() {
  const ask = useAction(() => api.post('/v1/core/restart', { body: { dry_run: true } }))
  const [plan, setPlan] = useState<AnswerOf<'POST', '/v1/core/restart'>>()
  useEffect(() => {
    void ask.run().then((answer) => {
      if (answer?.ok === true) setPlan(answer.data)
    })
  }, [])
  if (ask.error !== undefined) return <ErrorNotice error={ask.error} />
  if (plan === undefined) return <Progress label={t('app.loading')} />
  const { restarted, subscribers_dropped: dropped } = plan
  return (
    <>
      <p>{t('core.start.does', { daemons: restarted.join(', ') })}</p>
      <p>{dropsText(dropped)}</p>
    </>
  )
}

/** Agrees that files of others are replaced; they are kept. */
function TakeOver({ files, onDone }: { readonly files: readonly string[]; readonly onDone: () => void }) {
  return (
    <Notice tone="warn">
      <p>{t('core.takeOver')}</p>
      <Lines lines={files} />
      {may('admin') ? (
        <Form
          submit={t('core.takeOver.agree')}
          act={() => api.post('/v1/core/take-over', { body: { files: [...files] } })}
          onDone={onDone}
        />
      ) : null}
    </Notice>
  )
}
