import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { may } from '../../api/session.ts'
import { type Query, useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'

type Webhooks = AnswerOf<'GET', '/v1/alerts/webhooks'>
type Tested = AnswerOf<'POST', '/v1/alerts/webhooks/test'>

/** Who is told of alerts, what they have not taken, and a test of each. */
export function Receivers({ query }: { readonly query: Query<Webhooks> }) {
  return (
    <Loaded query={query}>
      {({ webhooks }) =>
        webhooks.length === 0 ? (
          <EmptyState
            title={t('alerts.receivers.none')}
            action={<a href="/docs/how-to/alerts.html">{t('alerts.docs')}</a>}
          >
            {t('alerts.receivers.none.help')}
          </EmptyState>
        ) : (
          <div class="cards">
            {webhooks.map((webhook) => (
              <Receiver key={webhook.name} webhook={webhook} onChanged={query.reload} />
            ))}
          </div>
        )
      }
    </Loaded>
  )
}

function Receiver({
  webhook,
  onChanged,
}: {
  readonly webhook: Webhooks['webhooks'][number]
  readonly onChanged: () => void
}) {
  const { name, waiting, parked, last_error } = webhook
  const [tested, setTested] = useState<Tested | undefined>(undefined)
  const test = useAction((resend: boolean) =>
    api.post('/v1/alerts/webhooks/test', { body: { webhook: name, resend }, timeoutMs: 60_000 }),
  )
  const run = async (resend: boolean): Promise<void> => {
    setTested(undefined)
    const result = await test.run(resend)
    if (result?.ok === true) setTested(result.data)
    onChanged()
  }
  const isWell = waiting === 0 && parked === 0
  return (
    <article class="card" aria-label={name}>
      <h2>{name}</h2>
      <p>
        <Lamp
          tone={isWell ? 'ok' : parked > 0 ? 'bad' : 'warn'}
          label={t(isWell ? 'alerts.receiver.well' : 'alerts.receiver.behind')}
        />
      </p>
      <Facts
        facts={[
          [t('alerts.receiver.waiting'), waiting === 0 ? undefined : waiting],
          [t('alerts.receiver.parked'), parked === 0 ? undefined : parked],
          [t('alerts.receiver.why'), last_error === null ? undefined : <Said key="why">{last_error}</Said>],
        ]}
      />
      {test.error === undefined ? null : <ErrorNotice error={test.error} />}
      {tested === undefined ? null : <Outcome tested={tested} />}
      {may('operator') ? (
        <div class="actions">
          {parked === 0 ? null : (
            <Button isBusy={test.isBusy} onClick={() => void run(true)}>
              {t('alerts.receiver.resend')}
            </Button>
          )}
          <Button isBusy={test.isBusy} onClick={() => void run(false)}>
            {t('alerts.receiver.test')}
          </Button>
        </div>
      ) : null}
    </article>
  )
}

function Outcome({ tested }: { readonly tested: Tested }) {
  return (
    <Notice tone={tested.delivered ? 'ok' : 'bad'}>
      <p>
        {tested.delivered ? t('alerts.test.taken') : t('alerts.test.refused', { why: tested.error ?? '' })}
      </p>
      {tested.resent === 0 ? null : <p>{t('alerts.test.resent', { count: tested.resent })}</p>}
      <p class="fine">
        <code>{tested.id}</code>
      </p>
    </Notice>
  )
}
