import { api } from '../../api/client.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Field } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { StaleNotice } from '../../ui/stale-notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { useDraft } from '../../ui/use-draft.ts'
import { LookFirst } from './look-first.tsx'
import { Step } from './step.tsx'

/** The names by which phones ask for the internet. */
export function Apns() {
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const save = useAction((apns: readonly string[]) =>
    api.put('/v1/policy', { body: { apns }, ...(policy.etag === undefined ? {} : { ifMatch: policy.etag }) }),
  )
  const known = policy.data?.apns ?? []
  const draft = useDraft(known.join(', '))
  const apns = draft.value.split(/[\s,]+/).filter((name) => name !== '')
  const submit = async (): Promise<void> => {
    const result = await save.run(apns)
    // Refused as stale: what is in force now is read, and shown beside what is typed.
    if (result?.ok === false) policy.reload()
    if (result?.ok !== true) return
    draft.drop()
    toast({ text: t('start.saved') })
  }
  return (
    <Step title={t('start.apn')} isDone={known.length > 0}>
      <LookFirst
        change={{ apns: apns.join(',') }}
        apply={submit}
        isBusy={save.isBusy}
        isDisabled={!draft.isTouched || draft.isStale}
      >
        <Field
          label={t('start.apn.names')}
          help={t('start.apn.help')}
          value={draft.value}
          onInput={draft.set}
          isRequired
        />
        <StaleNotice draft={draft} text={String} onChosen={save.clear} />
        {save.error === undefined || draft.isStale ? null : <ErrorNotice error={save.error} />}
      </LookFirst>
    </Step>
  )
}
