import type { AnswerOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { useQuery } from '../../api/use-query.ts'
import { pageAt, titleOf } from '../../app/pages-here.ts'
import { t, word } from '../../text/index.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Card, Facts, Lamp, Progress, Said, type Tone } from '../../ui/parts.tsx'
import { type Sim, stateText } from '../sims/sim.tsx'

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
  const title = t(sim.attached === true ? 'why.title.on' : 'why.title')
  return (
    <Card title={title}>
      {path === undefined ? (
        <p>{t(sim.state === 'revoked' ? 'why.revoked' : 'why.isOn')}</p>
      ) : why.isLoading ? (
        <Progress label={t('why.looking')} />
      ) : null}
      <ErrorNotice error={why.error} />
      {why.data === undefined ? null : <Found sim={sim} {...why.data} />}
      <Button
        icon="refresh-cw"
        onClick={() => {
          setAsked(true)
          why.reload()
        }}
      >
        {t(path === undefined ? 'why.ask' : 'why.again')}
      </Button>
    </Card>
  )
}

type Diagnosis = AnswerOf<'GET', '/v1/sims/{imsi}/diagnosis'>

/** What keeps it off, what else was found, and what is well. */
function Found({ sim, verdict, checks }: { readonly sim: Sim } & Pick<Diagnosis, 'verdict' | 'checks'>) {
  const fine = checks.filter(({ status }) => status === 'ok')
  const doubtful = checks.filter(({ status }) => status !== 'ok')
  // What keeps it off is said above the checks, and not once more among them.
  const reason = checks.find(({ name, detail }) => verdict === `${name}: ${detail}`)
  return (
    <>
      <p class="sentence">
        {reason?.name === 'state' && sim.state === 'suspended' ? (
          stateText(sim)
        ) : (
          <Said>{reason?.detail ?? verdict}</Said>
        )}
      </p>
      <ul class="checks">
        {doubtful.map((check) => (
          <li key={check.name}>
            <Lamp tone={TONES[check.status] ?? 'none'} label={word('why.check', check.name)} />
            {check === reason ? null : (
              <p>
                <Said>{check.detail}</Said>
              </p>
            )}
            {check.advice === null ? null : <Advice {...check} advice={check.advice} sim={sim} />}
          </li>
        ))}
      </ul>
      {fine.length === 0 ? null : (
        <details>
          <summary>{t('why.fine')}</summary>
          <Facts
            facts={fine.map(({ name, status, detail }) => [
              word('why.check', name),
              <Said key={status}>{detail}</Said>,
            ])}
          />
        </details>
      )}
    </>
  )
}

const PLACES: Readonly<Record<string, string>> = {
  ...{ provisioning: '/core', subscriber: '/core', core: '/core', attempts: '/core' },
  ...{ network: '/settings', radio: '/radio', clock: '/system' },
}

/** What to do: the page where it can be done. Advice that names a command is said in words of the console. */
function Advice({
  name,
  advice,
  sim,
}: {
  readonly name: string
  readonly advice: string
  readonly sim: Sim
}) {
  const page = pageAt(PLACES[name] ?? '')
  const todo = name === 'state' && sim.suspend_reason === 'quota' ? 'state.quota' : name
  return (
    <div>
      <p class="advice">
        {t('why.advice')} {/\bsvc /.test(advice) ? word('why.do', todo) : <Said>{advice}</Said>}
      </p>
      {page === undefined ? null : (
        <ButtonLink href={page.path}>{t('incident.open', { page: titleOf(page) })}</ButtonLink>
      )}
    </div>
  )
}
