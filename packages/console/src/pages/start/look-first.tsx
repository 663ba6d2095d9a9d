import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { has } from '../../api/features.ts'
import { useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { type CoreChange, WhatIf } from '../core/what-if.tsx'

/**
 * A form that changes the core: its button shows what that would do, and only then another makes the change. What is typed after that is
 * looked at anew. Where nothing keeps the core at its configuration, it is saved at once.
 */
export function LookFirst({
  change,
  isAllowed,
  apply,
  isBusy,
  isDisabled,
  children,
}: {
  readonly change: CoreChange
  /** Whether it may be made at all; says itself why not. */
  readonly isAllowed?: () => Promise<boolean>
  readonly apply: () => Promise<void>
  readonly isBusy: boolean
  readonly isDisabled: boolean
  readonly children: ComponentChildren
}) {
  const [looked, setLooked] = useState<string | undefined>(undefined)
  const key = JSON.stringify(change)
  const isLooked = has('core-config') && looked === key && !isDisabled
  const plan = useQuery(
    has('core-config') && isLooked ? '/v1/core/plan' : undefined,
    { query: change },
    { on: ['core.*', 'config.*', 'policy.*'] },
  )
  const submit = async (): Promise<void> => {
    if (has('core-config') && !isLooked) {
      if (await (isAllowed?.() ?? true)) setLooked(key)
      return
    }
    setLooked(undefined)
    await apply()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {children}
      {has('core-config') && isLooked ? <WhatIf plan={plan} /> : null}
      <div class="toolbar">
        {isLooked ? <Button onClick={() => setLooked(undefined)}>{t('start.look.back')}</Button> : null}
        <Button
          type="submit"
          kind={isLooked ? 'primary' : 'plain'}
          isBusy={isBusy || (isLooked && plan.isLoading)}
          isDisabled={isDisabled}
        >
          {t(isLooked ? 'start.apply' : has('core-config') ? 'core.whatIf.look' : 'start.save')}
        </Button>
      </div>
    </form>
  )
}
