import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { Step } from './step.tsx'

/** What is typed, and what was in force when it was begun. */
interface Typed {
  readonly text: string
  readonly before: string
}

/** The names by which phones ask for the internet. */
export function Apns() {
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const [typed, setTyped] = useState<Typed | undefined>(undefined)
  const save = useAction((apns: readonly string[]) =>
    api.put('/v1/policy', { body: { apns }, ...(policy.etag === undefined ? {} : { ifMatch: policy.etag }) }),
  )
  const known = policy.data?.apns ?? []
  const now = known.join(', ')
  const text = typed?.text ?? now
  const isStale = typed !== undefined && typed.before !== now
  const submit = async (): Promise<void> => {
    const apns = text.split(/[\s,]+/).filter((name) => name !== '')
    const result = await save.run(apns)
    // Refused as stale: what is in force now is read, and shown beside what is typed.
    if (result?.ok === false) policy.reload()
    if (result?.ok !== true) return
    setTyped(undefined)
    toast({ text: t('start.saved') })
  }
  return (
    <Step title={t('start.apn')} isDone={known.length > 0}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <Field
          label={t('start.apn.names')}
          help={t('start.apn.help')}
          value={text}
          onInput={(next) => setTyped({ text: next, before: typed?.before ?? now })}
          isRequired
        />
        {isStale ? (
          <Notice tone="warn">
            <p>
              <strong>{t('rules.stale')}</strong> {t('start.apn.stale', { names: now })}
            </p>
            <div class="actions">
              <Button onClick={() => setTyped(undefined)}>{t('rules.stale.drop')}</Button>
              <Button onClick={() => setTyped({ text, before: now })}>{t('rules.stale.keep')}</Button>
            </div>
          </Notice>
        ) : null}
        {save.error === undefined || isStale ? null : <ErrorNotice error={save.error} />}
        <div>
          <Button type="submit" isBusy={save.isBusy} isDisabled={typed === undefined || isStale}>
            {t('start.save')}
          </Button>
        </div>
      </form>
    </Step>
  )
}
