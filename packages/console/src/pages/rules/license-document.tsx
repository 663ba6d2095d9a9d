import type { AnswerOf } from '@steeple/client'
import { useId, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { download } from '../../api/download.ts'
import { may } from '../../api/session.ts'
import { useAction, useQuery } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { bytesText } from '../../ui/bytes.tsx'
import { DialogButton } from '../../ui/dialog.tsx'
import { FileField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Facts } from '../../ui/parts.tsx'
import { Time } from '../../ui/time.tsx'
import { whoOf } from '../../ui/who.ts'

const PATH = '/v1/policy/license/documents'
type Document = AnswerOf<'GET', typeof PATH>['documents'][number]

/** A scan or photo of the licence, and those of earlier ones that the record still needs. */
export function LicenseDocument() {
  const id = useId()
  const query = useQuery(PATH, {}, { on: ['policy.*'] })
  const policy = useQuery('/v1/policy', {}, { on: ['policy.*'] })
  const all = query.data?.documents ?? []
  const own = all.find(({ ended_at }) => ended_at === null)
  const earlier = all.filter(({ ended_at }) => ended_at !== null)
  const hasReference = (policy.data?.spectrum.license.reference ?? null) !== null
  if (query.error !== undefined) return <ErrorNotice error={query.error} onRetry={query.reload} />
  if (query.data === undefined || policy.data === undefined) return null
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{t('rules.document')}</h2>
      {own === undefined ? (
        <p>{t(hasReference ? 'rules.document.none' : 'rules.document.noReference')}</p>
      ) : (
        <About document={own} onChanged={query.reload} />
      )}
      {hasReference && may('operator') ? (
        <Attach key={own?.id ?? ''} isFirst={own === undefined} onChanged={query.reload} />
      ) : null}
      {earlier.length === 0 ? null : (
        <details>
          <summary>{t('rules.document.old')}</summary>
          <p class="fine">{t('rules.document.old.help')}</p>
          {earlier.map((one) => (
            <About key={one.id} document={one} onChanged={query.reload} />
          ))}
        </details>
      )}
    </section>
  )
}

function About({ document, onChanged }: { readonly document: Document; readonly onChanged: () => void }) {
  const { id, license_reference: reference, attached_at: from, ended_at: until } = document
  const take = useAction(() => download(`${PATH}/{id}`, { path: { id } }))
  return (
    <>
      <Facts
        facts={[
          [t('rules.license.reference'), reference],
          [
            t('rules.document.at'),
            <>
              <Time at={from} /> {t('rules.document.by', { by: whoOf(document.attached_by) })}
              {until === null ? null : (
                <>
                  , {t('rules.document.until')} <Time at={until} />
                </>
              )}
            </>,
          ],
          [t('rules.document.size'), bytesText(document.bytes)],
          [t('rules.document.sha'), <code key="sha">{document.sha256}</code>],
        ]}
      />
      <ErrorNotice error={take.error} />
      {may('operator') ? (
        <div class="toolbar">
          <Button
            label={t('rules.document.download.of', { reference })}
            isBusy={take.isBusy}
            onClick={() => void take.run()}
          >
            {t('rules.document.download')}
          </Button>
          {until === null ? (
            <DialogButton
              text="rules.document.remove"
              button={{ kind: 'quiet' }}
              act={() => api.delete(`${PATH}/{id}`, { path: { id } })}
              onDone={onChanged}
            />
          ) : null}
        </div>
      ) : null}
    </>
  )
}

function Attach({ isFirst, onChanged }: { readonly isFirst: boolean; readonly onChanged: () => void }) {
  const [file, setFile] = useState<File>()
  return (
    <Form
      submit={t(isFirst ? 'rules.document.attach' : 'rules.document.replace')}
      isDisabled={file === undefined}
      act={() => api.post(PATH, { body: { type: 'application/octet-stream', content: file ?? '' } })}
      done={t('rules.document.attached')}
      onDone={onChanged}
    >
      <FileField text="rules.document.file" accept=".pdf,.png,.jpg,.jpeg" onChoose={setFile} />
    </Form>
  )
}
