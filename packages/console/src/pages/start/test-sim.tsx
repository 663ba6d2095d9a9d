import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { SubscriberName } from '../../ui/subscriber-name.tsx'
import { Step } from './step.tsx'
import { useSettings } from './use-settings.ts'

const LABEL = 'test'
const LOOK_MS = 30_000

/** A SIM to try the network with: issued here, put into a phone, watched until it attaches. */
export function TestSim() {
  const sims = useQuery(
    '/v1/sims',
    { query: { label: LABEL, limit: 1 } },
    { on: ['sim.*'], everyMs: LOOK_MS },
  )
  const issue = useAction(() => api.post('/v1/sims', { body: { count: 1, label: LABEL } }))
  const [isAsked, setAsked] = useState(false)
  const sim = sims.data?.sims[0]
  const isOn = sim !== undefined && sim.first_attach_at !== null
  return (
    <Step title={t('start.sim')} isDone={isOn}>
      <p>{t('start.sim.about')}</p>
      {issue.error === undefined ? null : <ErrorNotice error={issue.error} />}
      {sim === undefined ? (
        <Button
          isBusy={issue.isBusy || isAsked}
          onClick={() => {
            setAsked(true)
            void issue.run().then(() => {
              setAsked(false)
              sims.reload()
            })
          }}
        >
          {t('start.sim.issue')}
        </Button>
      ) : (
        <>
          <p>
            <SubscriberName hash={sim.imsi_sha256_12} />{' '}
            <Lamp
              tone={isOn ? 'ok' : 'none'}
              label={t(isOn ? 'start.sim.on' : 'start.sim.waiting', {
                state: word('start.provisioning', sim.provisioning.status),
              })}
            />
          </p>
          {isOn ? null : <Insert batch={sim.batch_id ?? ''} />}
        </>
      )}
    </Step>
  )
}

/** How the card gets into a phone. Its keys leave the box on a terminal alone. */
function Insert({ batch }: { readonly batch: string }) {
  const folder = useSettings().inForce('server.data_dir') ?? './data'
  const command = `npm run -s svc -- sim export ${batch} --data-dir ${folder} --format json | npm run -s lab -- insert`
  return (
    <>
      <p>{t('start.sim.insert')}</p>
      <p>
        <code>{command}</code>
      </p>
      <Copy text={command} />
    </>
  )
}
