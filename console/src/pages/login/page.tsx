/** Who am I? */

import { useState } from "preact/hooks";
import { api, body } from "../../api/client";
import { keepToken } from "../../api/token";
import { ProblemPanel } from "../../parts/problem";
import { text } from "../../text/en";

export default function LoginPage() {
  const [error, setError] = useState<unknown>(null);
  const [isWorking, setIsWorking] = useState(false);
  async function logIn(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = { email: form.get("email") as string, password: form.get("password") as string };
    setIsWorking(true);
    try {
      const answer = await body(api.POST("/api/v1/auth/local/token", { body: given }));
      keepToken(answer.access_token);
    } catch (failure) {
      setError(failure);
      setIsWorking(false);
    }
  }
  return (
    <main class="login">
      <h1>{text.login.title}</h1>
      {error !== null && <ProblemPanel error={error} />}
      <form onSubmit={logIn}>
        <label class="field">
          {text.login.email}
          <input name="email" type="email" autocomplete="username" required autofocus />
        </label>
        <label class="field">
          {text.login.password}
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button class="primary" disabled={isWorking}>
          {isWorking ? text.login.working : text.login.submit}
        </button>
      </form>
    </main>
  );
}
