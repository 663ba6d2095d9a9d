import { useQuery } from '../../api/use-query.ts'
import { t, word } from '../../text/index.ts'
import { Lamp } from '../../ui/lamp.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Said } from '../../ui/said.tsx'

/** What an arm of a profile would start: the checks before it, and the files that would be written. */
export function DryRun({ id }: { readonly id: string }) {
  const { data, error, reload } = useQuery('/v1/tx/profiles/{id}/dry-run', { path: { id } })
  if (error !== undefined) return <ErrorNotice error={error} onRetry={reload} />
  if (data === undefined) return null
  if (data.program === null) return <p class="fine">{t('radio.dry.none')}</p>
  return (
    <section aria-label={t('radio.dry')}>
      <h3>{t('radio.dry')}</h3>
      <ul class="reasons">
        {data.checks.map(({ check, problems }) => (
          <li key={check}>
            <Lamp tone={problems.length === 0 ? 'ok' : 'bad'} label={word('radio.dry.check', check)} />
            {problems.map((problem) => (
              <p key={problem}>
                <Said>{problem}</Said>
              </p>
            ))}
          </li>
        ))}
      </ul>
      {data.files.length === 0 ? null : (
        <details>
          <summary>{t('radio.dry.files', { program: data.program })}</summary>
          {data.files.map(({ name, text }) => (
            <figure key={name}>
              <figcaption>{name}</figcaption>
              <pre>{text}</pre>
            </figure>
          ))}
        </details>
      )}
    </section>
  )
}
