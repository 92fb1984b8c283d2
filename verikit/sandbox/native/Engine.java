package verikit;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;

/**
 * Runs the cases of a plain program (java_plain.py says which are) in one virtual machine, each with its classes loaded
 * anew and with streams of its own. Arguments: the folder of the streams, the folder of the classes, the class that is
 * started, "unwind" if nothing in the program catches what it does not know, and "threads" if it makes any: then its
 * main thread is one of its own, which others may wait for.
 *
 * The supervisor (engine.h) sends a byte for each case on standard input, and takes a report from standard output. A
 * case that ends in any other way than well is run again by itself, so nothing here has to say how it ended.
 */
public final class Engine {
    private static final Map<String, byte[]> classes = new HashMap<>();
    private static final long STACK = 64 << 20; // as -Xss says for the main thread of a program that runs alone
    private static OutputStream reports;
    private static boolean unwinds, threads;
    private static Thread main;
    private static ThreadGroup group;

    /** What ends the main thread of a case that ends itself. */
    private static final class Ended extends Error {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(ClassLoader.getSystemClassLoader().getParent());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] content = classes.get(name);
            if (content != null) return defineClass(name, content, 0, content.length);
            if (name.equals(Engine.class.getName())) return Engine.class;
            throw new ClassNotFoundException(name);
        }
    }

    /** In the place of System.exit. */
    public static void exit(int code) {
        if (unwinds && Thread.currentThread() == main && group.activeCount() == 1) throw new Ended(code);
        try {
            report(code, true);
        } catch (IOException gone) {
            Runtime.getRuntime().halt(1);
        }
        while (true) { // until this machine is ended, as soon as the report is read
            try {
                Thread.sleep(1000);
            } catch (InterruptedException another) {
                continue;
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        reports = new FileOutputStream(FileDescriptor.out);
        unwinds = arguments[3].equals("unwind");
        threads = arguments[4].equals("threads");
        read(new File(arguments[1]), "");
        InputStream orders = new FileInputStream(FileDescriptor.in);
        report(0, false);
        while (orders.read() >= 0) report(run(arguments[0], arguments[2]), false);
    }

    private static void read(File folder, String before) throws IOException {
        for (File file : folder.listFiles()) {
            String name = before + file.getName();
            if (file.isDirectory()) read(file, name + ".");
            else if (name.endsWith(".class"))
                classes.put(name.substring(0, name.length() - 6), Files.readAllBytes(file.toPath()));
        }
    }

    /** One case; 0 if it ended well. */
    private static int run(String streams, String name) throws Exception {
        int code;
        try (FileInputStream in = new FileInputStream(streams + "/.stdin");
                FileOutputStream out = new FileOutputStream(streams + "/.stdout", true);
                FileOutputStream errors = new FileOutputStream(streams + "/.stderr", true)) {
            System.setIn(new BufferedInputStream(in));
            System.setOut(new PrintStream(new BufferedOutputStream(out, 8192), true));
            System.setErr(new PrintStream(new BufferedOutputStream(errors, 8192), true));
            main = Thread.currentThread();
            group = main.getThreadGroup();
            code = threads ? callAside(name) : call(name);
        }
        return Thread.interrupted() ? 1 : code;
    }

    /** Call the program on a thread of its own, and wait for all threads that it starts. */
    private static int callAside(String name) throws InterruptedException {
        int[] code = {1};
        group = new ThreadGroup("main");
        main = new Thread(group, () -> code[0] = call(name), "main", STACK);
        main.start();
        main.join();
        for (int left; (left = group.activeCount()) > 0; ) {
            Thread[] others = new Thread[left];
            left = group.enumerate(others);
            for (int i = 0; i < left; i++) others[i].join();
        }
        return code[0];
    }

    private static int call(String name) {
        try {
            Method method = new Loader().loadClass(name).getMethod("main", String[].class);
            method.setAccessible(true);
            method.invoke(null, (Object) new String[0]);
            return 0;
        } catch (InvocationTargetException thrown) {
            return thrown.getCause() instanceof Ended ? ((Ended) thrown.getCause()).code : 1;
        } catch (ReflectiveOperationException | LinkageError | RuntimeException other) {
            return 1;
        }
    }

    /** As `struct report` of engine.h has it: how the case ended, and whether this machine is to end with it. */
    private static synchronized void report(int code, boolean last) throws IOException {
        ByteBuffer report = ByteBuffer.allocate(24).order(ByteOrder.nativeOrder());
        report.putLong((code & 255) << 8).putLong(last ? 1 : 0).putLong(0);
        reports.write(report.array());
    }
}
