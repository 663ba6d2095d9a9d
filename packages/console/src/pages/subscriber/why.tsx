import { useState } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Lamp, type Tone } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Said } from '../../ui/said.tsx'
import type { Sim } from '../sims/sim.tsx'

/** It asks HSS and core each time. */
const LOOK_MS = 10_000

const TONES: Readonly<Record<string, Tone>> = { ok: 'ok', warning: 'warn', failed: 'bad' }

/** Why its phone is not on the network: each check, and what to do. Looked at by itself while the phone is away. */
export function Why({ sim }: { readonly sim: Sim }) {
  const isAway = sim.attached !== true && sim.state !== 'revoked'
  const [isAsked, setAsked] = useState(false)
  const path = isAway || isAsked ? '/v1/sims/{imsi}/diagnosis' : undefined
  const why = useQuery(
    path,
    { path: { imsi: sim.imsi_sha256_12 } },
    { on: ['sim.*', 'session.*', 'core.*', 'ran.*'], everyMs: LOOK_MS },
  )
  return (
    <section class="card" aria-label={t('why.title')}>
      <h2>{t('why.title')}</h2>
      {path === undefined ? (
        <p>{t(sim.state === 'revoked' ? 'why.revoked' : 'why.isOn')}</p>
      ) : why.isLoading ? (
        <Progress label={t('why.looking')} />
      ) : null}
      {why.error === undefined ? null : <ErrorNotice error={why.error} />}
      {why.data === undefined ? null : (
        <>
          <p class="sentence">
            <Said>{why.data.verdict}</Said>
          </p>
          <ul class="checks">
            {why.data.checks.map(({ name, status, detail, advice }) => (
              <li key={name}>
                <Lamp tone={TONES[status] ?? 'none'} label={word('why.check', name)} />
                <div>
                  <p>
                    <Said>{detail}</Said>
                  </p>
                  {advice === null ? null : (
                    <p class="advice">
                      {t('why.advice')} <Said>{advice}</Said>
                    </p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </>
      )}
      <Button
        onClick={() => {
          setAsked(true)
          why.reload()
        }}
      >
        {t(path === undefined ? 'why.ask' : 'why.again')}
      </Button>
    </section>
  )
}
