import type { CodeOf } from '@steeple/client'
import { useState } from 'preact/hooks'
import { type Query, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { type CorePlan, Planned } from './plan.tsx'
import './core.css'

/** What of the core's settings would be otherwise. */
export interface CoreChange {
  readonly mcc?: string
  readonly mnc?: string
  /** With commas between them. */
  readonly apns?: string
}

/** The plan of a change that nobody has made yet. */
export type ChangePlan = Query<CorePlan, CodeOf<'GET', '/v1/core/plan'>>

/** A button that shows what a change does to the core, and that until another one is typed. */
export function AskCore({ change }: { readonly change: CoreChange }) {
  const [asked, setAsked] = useState<string | undefined>(undefined)
  const key = JSON.stringify(change)
  const plan = useQuery(
    asked === key ? '/v1/core/plan' : undefined,
    { query: change },
    { on: ['core.*', 'config.*', 'policy.*'] },
  )
  if (asked === key) return <WhatIf plan={plan} />
  return <Button onClick={() => setAsked(key)}>{t('core.whatIf.look')}</Button>
}

/** What a change would do to the core, before it is made: the files that differ, the daemons that restart, the phones that drop. */
export function WhatIf({ plan: { data, error, reload } }: { readonly plan: ChangePlan }) {
  return (
    <section aria-label={t('core.whatIf')}>
      <h3>{t('core.whatIf')}</h3>
      {error === undefined ? null : <ErrorNotice error={error} onRetry={reload} />}
      {data === undefined && error === undefined ? <Progress label={t('app.loading')} /> : null}
      {data === undefined ? null : <Planned plan={data} words="core.whatIf.state" />}
    </section>
  )
}
