import {
  type AnswerOf,
  Button,
  bytesText,
  Card,
  ErrorNotice,
  may,
  Notice,
  rateText,
  Said,
  type Sim,
  Time,
  t,
  useQuery,
  useState,
  word,
} from '@steeple/console/kit'
import { CountingOff, isBeforeFirst, isOff } from './counting-off.tsx'
import { forecastOf } from './forecast.ts'
import { QuotaDialog, TopUpDialog } from './quota-dialogs.tsx'

/** What a SIM has used of its quota. */
export type Usage = AnswerOf<'GET', '/v1/sims/{imsi}/usage'>

const LOOK_MS = 15_000

/** The quota of a SIM: how much of it is used, when it will be used up, and how to change it. */
export function Panel({ sim }: { readonly sim: Sim }) {
  const path = { imsi: sim.imsi_sha256_12 }
  const read = useQuery('/v1/sims/{imsi}/usage', { path }, { on: ['quota.*', 'sim.*'], everyMs: LOOK_MS })
  const [open, setOpen] = useState<'set' | 'add'>()
  const { data: usage, error } = read
  const isLive = sim.state !== 'revoked'
  const close = (): void => setOpen(undefined)
  return (
    <Card title={t('quota.title')}>
      <ErrorNotice error={error} onRetry={read.reload} />
      {usage === undefined ? null : <State usage={usage} />}
      {usage !== undefined && isBeforeFirst(usage) ? <NoneCounted usage={usage} /> : null}
      {usage !== undefined && isLive && may('operator') ? (
        <div class="toolbar">
          <Button onClick={() => setOpen('set')}>
            {t(usage.quota_bytes === null ? 'quota.set' : 'quota.change')}
          </Button>
          {usage.quota_bytes === null ? null : (
            <Button icon="plus" onClick={() => setOpen('add')}>
              {t('quota.add')}
            </Button>
          )}
        </div>
      ) : null}
      {usage !== undefined && open === 'set' ? (
        <QuotaDialog usage={usage} etag={read.etag} onClose={close} onChanged={read.reload} />
      ) : null}
      {usage !== undefined && open === 'add' ? (
        <TopUpDialog usage={usage} etag={read.etag} onClose={close} onChanged={read.reload} />
      ) : null}
    </Card>
  )
}

/** That no byte was counted yet: nothing counts, or no phone has used any. */
function NoneCounted({ usage }: { readonly usage: Usage }) {
  if (isOff(usage)) return <CountingOff why={usage.unknown_reason ?? undefined} />
  return <p class="fine">{t('usage.noneYet')}</p>
}

function State({ usage }: { readonly usage: Usage }) {
  const { quota_bytes: quota, total_bytes: used, added_bytes: added } = usage
  if (quota === null)
    return (
      <p>
        {t('quota.none', { used: bytesText(used) })} {used === 0 ? '' : word('quota.in', usage.period)}
      </p>
    )
  const whole = quota + added
  return (
    <>
      <p class="sentence">
        {t('quota.used', { used: bytesText(used), quota: bytesText(whole) })} {word('quota.in', usage.period)}
      </p>
      <meter
        aria-label={t('quota.title')}
        min={0}
        max={Math.max(1, whole)}
        high={whole * 0.8}
        optimum={0}
        value={Math.min(used, whole)}
      />
      {added === 0 ? null : <p class="fine">{t('quota.added', { added: bytesText(added) })}</p>}
      <Forecast usage={usage} />
      {/* What has happened says what happens. */}
      {usage.enforcement === 'none' ? <Action usage={usage} /> : null}
      {usage.enforcement === 'none' ? null : (
        <Notice tone="warn">{word('quota.enforcement', usage.enforcement)}</Notice>
      )}
      {usage.unknown_reason === null || isOff(usage) ? null : (
        <Notice tone="warn">
          {t('quota.unknown')} <Said>{usage.unknown_reason}</Said>
        </Notice>
      )}
    </>
  )
}

/** What happens when it is used up. */
function Action({ usage: { action, throttle_bps: bps } }: { readonly usage: Usage }) {
  return (
    <p>
      {word('quota.action', action ?? '')}
      {bps === null ? null : ` ${t('quota.rate.own', { rate: rateText(bps) })}`}
    </p>
  )
}

function Forecast({ usage }: { readonly usage: Usage }) {
  const forecast = forecastOf(usage, Date.now())
  if (usage.over_quota)
    return (
      <p>
        {usage.enforcement === 'none' ? t('quota.over') : null} {renewal(usage)}
      </p>
    )
  if (forecast === undefined) return <p class="fine">{renewal(usage)}</p>
  return (
    <p>
      {forecast.usedUpAt === undefined ? (
        t('quota.enough', { total: bytesText(forecast.total) })
      ) : (
        <>
          {t('quota.usedUp')} <Time at={forecast.usedUpAt} />.
        </>
      )}{' '}
      {renewal(usage)}
    </p>
  )
}

function renewal({ period_end: end }: Usage) {
  if (end === null) return null
  return (
    <>
      {t('quota.renews')} <Time at={end} />.
    </>
  )
}
